// Runs meet judgments: what `_core.judged` and the joins of tables and dicts do.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bindings/convert.hpp"
#include "table.hpp"

namespace cranfield {
namespace {

struct Judged {
    std::vector<std::string> topics;
    LongColumn<char> arena;
    std::vector<std::int64_t> start{0};
    std::vector<double> grade;
    JudgedIndex index{nullptr};
    std::size_t dropped = 0;
};

// Labels are not looked at: a document judged under two labels (intents) is a duplicate here.
std::unique_ptr<Judged> make_judged(const Table& table, const std::string& on_duplicate) {
    const OnDuplicate rule = make_rule(on_duplicate);
    auto judged = std::make_unique<Judged>();
    judged->topics = table.topics;
    judged->arena = table.arena;
    judged->index = JudgedIndex(judged->arena.data());
    IdTable seen;
    std::vector<Repeat> repeats;
    std::vector<Kept> list;
    std::vector<JudgedIndex::Document> documents;
    for (std::size_t l = 0; l < table.lists(); ++l) {
        const std::string& topic = table.topics[static_cast<std::size_t>(table.list_topic[l])];
        list.clear();
        for (auto i = static_cast<std::size_t>(table.list_start[l]); i < static_cast<std::size_t>(table.list_start[l + 1]); ++i)
            list.push_back({table.id(i), table.value[i], 0.0, 0, i});
        settle_duplicates(list, rule, false, seen, repeats, judged->dropped);
        if (!repeats.empty()) {
            const Repeat& repeat = repeats[0];
            const auto label = [&](std::size_t i) {
                return table.label.empty() ? std::string("") : table.labels[static_cast<std::size_t>(table.label[i])];
            };
            throw nb::value_error(("topic " + quoted(topic) + ": document " + quoted(repeat.again.id) +
                                   " is judged twice, for intents (or iterations) " + quoted(label(repeat.first.place)) +
                                   " and " + quoted(label(repeat.again.place))).c_str());
        }
        documents.clear();
        for (const Kept& entry : list) {
            documents.push_back({Id::at(table.arena.data(), entry.id), entry.value});
            judged->grade.push_back(entry.value);
        }
        judged->start.push_back(static_cast<std::int64_t>(judged->grade.size()));
        judged->index.add_topic(topic, documents);
    }
    return judged;
}

// What a join leaves: a grid of lists (run × judged topic) and their hits, sorted by list and rank.
class Joined {
public:
    explicit Joined(std::size_t topics) : topics_(topics) {}

    // What the ranker has found of one list.
    struct Part {
        std::size_t row = 0;
        std::vector<Hit> hits;
        std::vector<std::int32_t> numbers;
        std::vector<std::string> unknown;
        std::vector<double> scores;

        Part() = default;
        Part(std::size_t of_row, const Ranker& ranker, const char* base)
            : row(of_row), hits(ranker.hits), numbers(ranker.numbers), scores(ranker.scores) {
            for (const Id& id : ranker.unknown) unknown.emplace_back(id.in(base));
        }
    };

    std::vector<std::string> names;
    std::vector<std::int32_t> sources;
    std::vector<std::int32_t> retrieved;
    std::vector<std::uint8_t> missing;
    std::vector<std::vector<std::string>> unjudged;  // topics of each run that have no judgments
    std::size_t dropped = 0;
    std::size_t documents = 0;

    void add_run(std::string name, std::int32_t source) {
        names.push_back(std::move(name));
        sources.push_back(source);
        retrieved.resize(names.size() * topics_, 0);
        missing.resize(names.size() * topics_, 1);
        unjudged.emplace_back();
    }

    std::size_t hits() const { return row_.size(); }
    void reserve(std::size_t hits) {
        row_.reserve(hits), rank_.reserve(hits), tie_first_.reserve(hits), tie_last_.reserve(hits), grade_.reserve(hits);
    }

    // The lists of some runs, in any order; those of runs before them were added before.
    void add(std::vector<Part> parts, unsigned threads = 1) {
        std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.row < b.row; });
        std::vector<std::size_t> begins;
        std::size_t total = hits();
        for (const Part& part : parts) {
            begins.push_back(total);
            total += part.hits.size();
        }
        row_.resize(total), rank_.resize(total), tie_first_.resize(total), tie_last_.resize(total), grade_.resize(total);
        constexpr std::size_t kPartsAtOnce = 64;
        parallel_for((parts.size() + kPartsAtOnce - 1) / kPartsAtOnce, threads, {}, [&](std::size_t piece, unsigned) {
            const std::size_t end = std::min(parts.size(), (piece + 1) * kPartsAtOnce);
            for (std::size_t p = piece * kPartsAtOnce; p < end; ++p) put(parts[p], begins[p]);
        });
        for (const Part& part : parts) {
            numbers_.insert(numbers_.end(), part.numbers.begin(), part.numbers.end());
            scores_.insert(scores_.end(), part.scores.begin(), part.scores.end());
            for (const std::string& id : part.unknown)
                if (seen_.insert(id).second) unknown_.push_back(id);
        }
    }

    nb::dict to_python() {
        nb::list unjudged_topics;
        for (const auto& some : unjudged) unjudged_topics.append(to_strs(some));
        nb::dict out;
        out["names"] = to_strs(names);
        out["sources"] = sources;
        out["retrieved"] = to_numpy(std::move(retrieved));
        out["missing"] = to_numpy(std::move(missing));
        out["unjudged_topics"] = unjudged_topics;
        out["row"] = to_numpy(std::move(row_));
        out["rank"] = to_numpy(std::move(rank_));
        out["tie_first"] = to_numpy(std::move(tie_first_));
        out["tie_last"] = to_numpy(std::move(tie_last_));
        out["grade"] = to_numpy(std::move(grade_));
        out["dropped"] = dropped;
        out["documents"] = documents;
        out["numbers"] = to_numpy(std::move(numbers_));
        out["unknown"] = to_strs(unknown_);
        out["scores"] = to_numpy(std::move(scores_));
        return out;
    }

private:
    void put(const Part& part, std::size_t at) {
        for (const Hit& hit : part.hits) {
            row_[at] = static_cast<std::int64_t>(part.row);
            rank_[at] = hit.rank;
            tie_first_[at] = hit.tie_first;
            tie_last_[at] = hit.tie_last;
            grade_[at++] = hit.grade;
        }
    }

    std::size_t topics_;
    LongColumn<std::int64_t> row_;
    LongColumn<std::int32_t> rank_, tie_first_, tie_last_, numbers_;
    LongColumn<double> grade_, scores_;
    std::vector<std::string> unknown_;
    std::unordered_set<std::string> seen_;
};

JoinOptions join_options(const std::string& order, bool single_precision, const std::string& on_duplicate, std::size_t depth,
                         const Judged* numbers, bool scores) {
    JoinOptions options;
    options.order = make_order(order);
    options.single_precision = single_precision;
    options.on_duplicate = make_rule(on_duplicate);
    options.depth = depth;
    options.scores = scores;
    if (numbers) {
        if (numbers->topics.size() != 1) throw nb::value_error("numbers: expected the documents of one topic");
        options.documents = &numbers->index;
    }
    return options;
}

// Duplicates were settled when the tables were made.
nb::object py_join_tables(const Judged& judged, const std::vector<const Table*>& tables, const std::string& order,
                          bool single_precision, std::size_t depth, unsigned threads, const Judged* numbers, bool scores) {
    const JoinOptions options = join_options(order, single_precision, "error", depth, numbers, scores);
    Joined joined(judged.topics.size());
    {
        const nb::gil_scoped_release release;
        std::size_t most_hits = 0;
        for (const Table* table : tables) most_hits += table->size();
        joined.reserve(most_hits);  // memory that is not written to is none
        std::int32_t first_name = 0;
        for (std::size_t t = 0; t < tables.size(); ++t) {
            const Table& table = *tables[t];
            if (options.order == Order::rank && table.rank.empty() && table.size() > 0)
                throw std::invalid_argument("order == 'rank', but the run has no ranks; use 'score' or 'file'");
            for (const std::string& name : table.names) joined.add_run(name, static_cast<std::int32_t>(t));
            constexpr std::size_t kWorthAThread = 1 << 13;  // documents
            const auto most = static_cast<unsigned>(std::min<std::size_t>(table.size() / kWorthAThread + 1, std::max(1u, threads)));
            std::vector<Ranker> rankers(most, Ranker(options));
            for (Ranker& ranker : rankers) ranker.set_unique(true);
            std::vector<Joined::Part> parts(table.lists());
            std::vector<std::int32_t> topics(table.lists());
            for (std::size_t l = 0; l < table.lists(); ++l)
                topics[l] = judged.index.topic(table.topics[static_cast<std::size_t>(table.list_topic[l])]);
            parallel_for(table.lists(), most, {}, [&](std::size_t l, unsigned thread) {
                if (topics[l] < 0) return;
                Ranker& ranker = rankers[thread];
                const auto begin = static_cast<std::size_t>(table.list_start[l]);
                const auto end = static_cast<std::size_t>(table.list_start[l + 1]);
                ranker.documents.clear();
                for (std::size_t i = begin; i < end; ++i)
                    ranker.documents.push_back({options.order == Order::rank ? -table.rank[i] : table.value[i], table.doc[i], 0.0});
                ranker.run(table.arena.data(), judged.index, topics[l]);
                const std::size_t row = static_cast<std::size_t>(first_name + table.list_name[l]) * judged.topics.size() +
                                        static_cast<std::size_t>(topics[l]);
                joined.retrieved[row] = static_cast<std::int32_t>(ranker.retrieved);
                joined.missing[row] = 0;
                parts[l] = Joined::Part(row, ranker, table.arena.data());
            });
            joined.add(std::move(parts), most);
            for (std::size_t l = 0; l < table.lists(); ++l) {
                joined.documents += static_cast<std::size_t>(table.list_start[l + 1] - table.list_start[l]);
                if (topics[l] < 0)
                    joined.unjudged[static_cast<std::size_t>(first_name + table.list_name[l])].push_back(
                        table.topics[static_cast<std::size_t>(table.list_topic[l])]);
            }
            first_name += static_cast<std::int32_t>(table.names.size());
        }
    }
    return joined.to_python();
}

// Dicts of dicts, walked in place: the strings are looked at where Python keeps them.
nb::object py_join_dicts(const Judged& judged, const std::vector<std::pair<std::string, nb::dict>>& runs,
                         const std::string& order, bool single_precision, std::size_t depth, const Judged* numbers, bool scores) {
    const JoinOptions options = join_options(order, single_precision, "error", depth, numbers, scores);
    if (options.order == Order::rank) throw nb::value_error("order == 'rank', but a dict has no ranks; use 'score' or 'file'");
    Joined joined(judged.topics.size());
    Ranker ranker(options);
    for (std::size_t r = 0; r < runs.size(); ++r) {
        joined.add_run(runs[r].first, static_cast<std::int32_t>(r));
        const nb::object walked = steady(runs[r].second.ptr());
        std::vector<Joined::Part> parts;
        Py_ssize_t at = 0;
        PyObject *topic_key = nullptr, *documents = nullptr;
        while (PyDict_Next(walked.ptr(), &at, &topic_key, &documents)) {
            Text text;
            const std::string_view topic_name = text.of(topic_key);
            check_id(topic_name, "topic");
            if (!PyDict_Check(documents))
                throw nb::type_error(("topic " + quoted(topic_name) + ": expected a dict of documents and scores").c_str());
            const std::int32_t topic = judged.index.topic(topic_name);
            joined.documents += static_cast<std::size_t>(PyDict_GET_SIZE(documents));
            if (topic < 0) {
                joined.unjudged[r].emplace_back(topic_name);
                continue;
            }
            ranker.documents.clear();
            ranker.documents.reserve(static_cast<std::size_t>(PyDict_GET_SIZE(documents)));
            const nb::object steady_documents = steady(documents);
            Py_ssize_t place = 0;
            bool strings = true;  // then a dict has no document twice; 7 and "7" would be one document
            PyObject *doc = nullptr, *value = nullptr;
            while (PyDict_Next(steady_documents.ptr(), &place, &doc, &value)) {
                const std::string_view id = text.of(doc);
                strings &= PyUnicode_CheckExact(doc);
                check_id(id, "document");
                ranker.documents.push_back({to_double(value, topic_name, id, "score"), Id::at(nullptr, id), 0.0});
            }
            ranker.set_unique(strings);
            ranker.run(nullptr, judged.index, topic);
            if (ranker.has_duplicate)
                throw nb::value_error(("topic " + quoted(topic_name) + ": document " + quoted(ranker.duplicate.again.in(nullptr)) +
                                       " is there twice, as different Python objects").c_str());
            const std::size_t row = r * judged.topics.size() + static_cast<std::size_t>(topic);
            if (!joined.missing[row])
                throw nb::value_error(("topic " + quoted(topic_name) + " is there twice, as different Python objects").c_str());
            joined.retrieved[row] = static_cast<std::int32_t>(ranker.retrieved);
            joined.missing[row] = 0;
            parts.emplace_back(row, ranker, nullptr);
            if ((parts.size() & 255) == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        joined.add(std::move(parts));
    }
    return joined.to_python();
}

}  // namespace
}  // namespace cranfield
