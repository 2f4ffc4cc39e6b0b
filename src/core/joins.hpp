// Runs meet judgments: what `_core.judged` and the three joins do.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "python.hpp"
#include "table.hpp"

namespace cranfield {
namespace {

struct Judged {
    std::vector<std::string> topics;
    std::vector<char> arena;
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

// ---- joins

// What a join leaves: a grid of lists (run × judged topic) and their hits, sorted by list and rank.
struct Joined {
    explicit Joined(std::size_t topics) : topics_(topics) {}

    struct Part {
        std::size_t row;
        std::vector<Hit> hits;
        std::vector<std::int32_t> numbers;
        std::vector<std::string> unknown;
        std::vector<double> scores;
    };

    // What the ranker has found of one list.
    static Part part(std::size_t row, const Ranker& ranker, const char* base) {
        Part out{row, ranker.hits, ranker.numbers, {}, ranker.scores};
        for (const Id& id : ranker.unknown) out.unknown.emplace_back(id.in(base));
        return out;
    }

    std::vector<std::string> names;
    std::vector<std::int32_t> sources;
    std::vector<std::int32_t> retrieved;
    std::vector<std::uint8_t> missing;
    std::vector<std::vector<std::string>> unjudged;  // topics of each run that have no judgments
    std::vector<Part> parts;                         // in any order
    std::size_t dropped = 0;
    std::size_t documents = 0;

    void add_run(std::string name, std::int32_t source) {
        names.push_back(std::move(name));
        sources.push_back(source);
        retrieved.resize(names.size() * topics_, 0);
        missing.resize(names.size() * topics_, 1);
        unjudged.emplace_back();
    }

    nb::dict to_python() {
        std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.row < b.row; });
        std::size_t total = 0;
        for (const Part& part : parts) total += part.hits.size();
        std::vector<std::int32_t> row, rank, tie_first, tie_last;
        std::vector<double> grade, scores;
        std::vector<std::int32_t> numbers;
        std::unordered_set<std::string> seen;
        nb::list unknown;
        row.reserve(total), rank.reserve(total), tie_first.reserve(total), tie_last.reserve(total), grade.reserve(total);
        for (const Part& part : parts) {
            for (const Hit& hit : part.hits) {
                row.push_back(static_cast<std::int32_t>(part.row));
                rank.push_back(hit.rank);
                tie_first.push_back(hit.tie_first);
                tie_last.push_back(hit.tie_last);
                grade.push_back(hit.grade);
            }
            numbers.insert(numbers.end(), part.numbers.begin(), part.numbers.end());
            scores.insert(scores.end(), part.scores.begin(), part.scores.end());
            for (const std::string& id : part.unknown)
                if (seen.insert(id).second) unknown.append(to_str(id));
        }
        nb::list unjudged_topics;
        for (const auto& some : unjudged) unjudged_topics.append(to_strs(some));
        nb::dict out;
        out["names"] = to_strs(names);
        out["sources"] = sources;
        out["retrieved"] = to_numpy(std::move(retrieved));
        out["missing"] = to_numpy(std::move(missing));
        out["unjudged_topics"] = unjudged_topics;
        out["row"] = to_numpy(std::move(row));
        out["rank"] = to_numpy(std::move(rank));
        out["tie_first"] = to_numpy(std::move(tie_first));
        out["tie_last"] = to_numpy(std::move(tie_last));
        out["grade"] = to_numpy(std::move(grade));
        out["dropped"] = dropped;
        out["documents"] = documents;
        out["numbers"] = to_numpy(std::move(numbers));
        out["unknown"] = unknown;
        out["scores"] = to_numpy(std::move(scores));
        return out;
    }

private:
    std::size_t topics_;
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

// Files straight into hits. Returns (joined dict or None, faults).
nb::tuple py_join_files(const Judged& judged, const std::vector<nb::object>& sources,
                        const std::vector<std::string>& columns, const std::string& delimiter, bool header,
                        const std::string& expected, const std::string& order, bool single_precision,
                        const std::string& on_duplicate, std::size_t depth, unsigned threads, const nb::object& progress,
                        const Judged* numbers, bool scores) {
    const Buffers buffers(sources);
    ReadOptions options;
    options.layout = make_layout(columns, delimiter, header, expected);
    options.threads = threads;
    const JoinOptions join = join_options(order, single_precision, on_duplicate, depth, numbers, scores);
    options.order = join.order;
    std::size_t bytes = 0;
    for (const Source& source : buffers.sources) bytes += source.size();
    options.watch = make_watch(progress, bytes / (4 << 20) + 1);
    Joined joined(judged.topics.size());
    std::vector<Fault> faults;
    {
        const nb::gil_scoped_release release;
        const Lines lines = read_lines(buffers.sources, options);
        faults = collect_faults(lines.chunks, 1);
        Lists grouped;
        if (faults.empty() && !lines.stopped) {
            grouped = group(lines.chunks, buffers.sources.size(), true);
            faults = grouped.faults;
        }
        if (faults.empty() && !lines.stopped) {
            for (const auto& [source, name] : grouped.runs) joined.add_run(name, static_cast<std::int32_t>(source));
            std::vector<std::int32_t> topic_number;
            for (const std::string& topic : grouped.topics) topic_number.push_back(judged.index.topic(topic));

            constexpr std::size_t kListsAtOnce = 16;
            const std::size_t pieces = (grouped.lists.size() + kListsAtOnce - 1) / kListsAtOnce;
            joined.parts.resize(grouped.lists.size());
            std::vector<Fault> list_fault(grouped.lists.size());
            std::vector<std::size_t> first_place(grouped.lists.size(), 0);  // of a document that is there twice
            std::vector<std::size_t> dropped(grouped.lists.size(), 0);
            std::vector<Ranker> rankers(std::clamp<std::size_t>(pieces, 1, std::max(1u, threads)), Ranker(join));
            const Watch quiet = make_watch(nb::none(), 0);
            parallel_for(pieces, threads, quiet, [&](std::size_t piece, unsigned thread) {
                Ranker& ranker = rankers[thread];
                const std::size_t end = std::min(grouped.lists.size(), (piece + 1) * kListsAtOnce);
                for (std::size_t l = piece * kListsAtOnce; l < end; ++l) {
                    const List& list = grouped.lists[l];
                    const std::int32_t topic = topic_number[static_cast<std::size_t>(list.topic)];
                    ranker.documents.clear();
                    ranker.documents.reserve(list.size);
                    std::size_t source = 0;
                    for (const auto& [c, b] : list.blocks) {
                        const Chunk& chunk = lines.chunks[c];
                        source = chunk.source;
                        const Block& block = chunk.blocks[b];
                        for (std::size_t i = block.first; i < block.first + block.count; ++i)
                            ranker.documents.push_back({chunk.entries[i].key, chunk.entries[i].doc, 0.0});
                    }
                    const std::string_view text = buffers.sources[source];
                    if (topic < 0)
                        ranker.rank_only(text.data());
                    else
                        ranker.run(text.data(), judged.index, topic);
                    dropped[l] = ranker.dropped;
                    if (ranker.has_duplicate) {
                        const std::string& topic_name = grouped.topics[static_cast<std::size_t>(list.topic)];
                        list_fault[l] = {source, ranker.duplicate.again.offset(),
                                         "document " + quoted(ranker.duplicate.again.in(text.data())) +
                                             " is there twice for topic " + quoted(topic_name)};
                        first_place[l] = ranker.duplicate.first.offset();
                        continue;
                    }
                    if (topic < 0) continue;
                    const std::size_t row = static_cast<std::size_t>(list.run) * judged.topics.size() + static_cast<std::size_t>(topic);
                    joined.retrieved[row] = static_cast<std::int32_t>(ranker.retrieved);
                    joined.missing[row] = 0;
                    joined.parts[l] = Joined::part(row, ranker, text.data());
                }
            });
            const Fault* worst = nullptr;
            for (const Fault& fault : list_fault)
                if (!fault.what.empty() && (!worst || std::pair(fault.source, fault.offset) < std::pair(worst->source, worst->offset)))
                    worst = &fault;
            if (worst) {  // lines are counted for the one that is told, not for every list
                faults.push_back(*worst);
                const std::size_t first = first_place[static_cast<std::size_t>(worst - list_fault.data())];
                faults.back().what += ", first on line " + std::to_string(line_of(buffers.sources[worst->source], first));
            }
            for (std::size_t l = 0; l < grouped.lists.size(); ++l) {
                const List& list = grouped.lists[l];
                joined.dropped += dropped[l];
                joined.documents += list.size;
                if (topic_number[static_cast<std::size_t>(list.topic)] < 0)
                    joined.unjudged[static_cast<std::size_t>(list.run)].push_back(grouped.topics[static_cast<std::size_t>(list.topic)]);
            }
        }
    }
    if (PyErr_Occurred()) throw nb::python_error();
    if (!faults.empty()) return nb::make_tuple(nb::none(), fault_list(faults, buffers.sources));
    return nb::make_tuple(joined.to_python(), nb::list());
}

// Duplicates were settled when the tables were made.
nb::object py_join_tables(const Judged& judged, const std::vector<const Table*>& tables, const std::string& order,
                          bool single_precision, std::size_t depth, unsigned threads, const Judged* numbers, bool scores) {
    const JoinOptions options = join_options(order, single_precision, "error", depth, numbers, scores);
    Joined joined(judged.topics.size());
    {
        const nb::gil_scoped_release release;
        std::int32_t first_name = 0;
        for (std::size_t t = 0; t < tables.size(); ++t) {
            const Table& table = *tables[t];
            if (options.order == Order::rank && table.rank.empty())
                throw std::invalid_argument("order == 'rank', but the run has no ranks; use 'score' or 'file'");
            for (const std::string& name : table.names) joined.add_run(name, static_cast<std::int32_t>(t));
            constexpr std::size_t kWorthAThread = 1 << 13;  // documents
            const auto most = static_cast<unsigned>(std::min<std::size_t>(table.size() / kWorthAThread + 1, std::max(1u, threads)));
            std::vector<Ranker> rankers(most, Ranker(options));
            for (Ranker& ranker : rankers) ranker.set_unique(true);
            const std::size_t before = joined.parts.size();
            joined.parts.resize(before + table.lists());
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
                joined.parts[before + l] = Joined::part(row, ranker, table.arena.data());
            });
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
            joined.parts.push_back(Joined::part(row, ranker, nullptr));
            if ((joined.parts.size() & 255) == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
        }
    }
    return joined.to_python();
}

}  // namespace
}  // namespace cranfield
