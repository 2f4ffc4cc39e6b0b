// Runs meet judgments: the judged documents of each topic, and the hits that a join finds.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "ranker.hpp"
#include "table.hpp"

namespace cranfield {

struct Judged {
    std::vector<std::string> topics;
    std::vector<std::int64_t> start{0};
    NumberColumn grade;
    const NumberColumn* in_table = nullptr;  // the grades, if those of a table are used
    JudgedIndex index{nullptr};
    std::size_t dropped = 0;
    std::shared_ptr<const void> table;  // keeps the table that the ids are in

    const NumberColumn& grades() const { return in_table ? *in_table : grade; }
};

// Prepares judgments for joins. Labels are ignored: a document judged for two intents is a duplicate here. The ids stay in
// the table, which must live as long as the result, and so do the grades if no document is judged twice.
inline std::unique_ptr<Judged> make_judged(const Table& table, OnDuplicate rule) {
    auto judged = std::make_unique<Judged>();
    JudgedIndex& index = judged->index;
    judged->topics = table.topics;
    index = JudgedIndex(table.arena.data());
    index.reserve(table.size(), table.topics.size());
    index.use_table(table.doc.data());
    const auto label = [&](std::size_t row) {
        return table.label.empty() ? std::string("") : table.labels[static_cast<std::size_t>(table.label[row])];
    };
    for (std::size_t l = 0; l < table.lists(); ++l) {
        const std::string& topic = table.topics[static_cast<std::size_t>(table.list_topic[l])];
        const auto begin = static_cast<std::size_t>(table.list_start[l]), end = static_cast<std::size_t>(table.list_start[l + 1]);
        index.begin_topic(topic, end - begin);
        for (std::size_t row = begin; row < end; ++row) {
            const std::int32_t earlier = index.add(table.doc[row]);
            if (earlier < 0) {
                if (judged->dropped > 0) judged->grade.push_back(table.value[row]);
                continue;
            }
            const auto first = static_cast<std::size_t>(earlier);
            if (rule == OnDuplicate::error)  // so that no row before this one was dropped
                throw std::invalid_argument("topic " + quoted(topic) + ": document " + quoted(table.id(row)) +
                                            " is judged twice, for intents (or iterations) " + quoted(label(first)) + " and " +
                                            quoted(label(row)));
            if (judged->dropped == 0) {
                index.leave_table();
                for (std::size_t kept = 0; kept < row; ++kept) judged->grade.push_back(table.value[kept]);
            }
            if (rule == OnDuplicate::max && table.value[row] > judged->grade[first]) judged->grade.set(first, table.value[row]);
            ++judged->dropped;
        }
        judged->start.push_back(static_cast<std::int64_t>(index.documents()));
    }
    if (judged->dropped == 0) judged->in_table = &table.value;
    return judged;
}

// The grades of every topic, best first; equal ones stay in order.
inline LongColumn<double> best_first(const Judged& judged) {
    LongColumn<double> grades = judged.grades().decoded();
    for (std::size_t t = 0; t + 1 < judged.start.size(); ++t) {
        const auto begin = grades.begin() + judged.start[t], end = grades.begin() + judged.start[t + 1];
        if (!std::is_sorted(begin, end, std::greater<>())) std::stable_sort(begin, end, std::greater<>());
    }
    return grades;
}

// How many documents of each topic have each of a few grades: topic after topic, the best grade first.
struct GradeCounts {
    std::vector<double> levels;
    LongColumn<std::int32_t> documents;
};

// For grades with codes.
inline GradeCounts count_grades(const Judged& judged) {
    const NumberColumn& grades = judged.grades();
    GradeCounts out{grades.levels(), {}};
    std::sort(out.levels.begin(), out.levels.end(), std::greater<>());
    std::vector<std::size_t> place;  // of each code
    for (const double level : grades.levels())
        place.push_back(static_cast<std::size_t>(std::find(out.levels.begin(), out.levels.end(), level) - out.levels.begin()));
    const std::size_t topics = judged.start.size() - 1;
    out.documents.assign(topics * out.levels.size(), 0);
    for (std::size_t t = 0; t < topics; ++t) {
        std::int32_t* const documents = out.documents.data() + t * out.levels.size();
        const auto end = static_cast<std::size_t>(judged.start[t + 1]);
        for (auto at = static_cast<std::size_t>(judged.start[t]); at < end; ++at) ++documents[place[grades.codes()[at]]];
    }
    return out;
}

// The result of a join: a grid of lists (run × judged topic) and their hits, sorted by list and rank. An entry of `numbers`
// and `scores` belongs to one retrieved document, list by list in rank order; both are empty unless the options ask for them.
class Joined {
public:
    explicit Joined(std::size_t topics) : topics_(topics) {}

    // One list, as the ranker leaves it.
    struct Part {
        std::size_t row = 0;
        std::vector<Hit> hits;
        std::vector<std::int32_t> numbers;
        std::vector<std::string> unknown;
        std::vector<double> scores;
        bool several = false, rises = false, falls = false;  // the list has several documents; see `Ranker`

        Part() = default;
        Part(std::size_t of_row, const Ranker& ranker, const char* base)
            : row(of_row), hits(ranker.hits), numbers(ranker.numbers), scores(ranker.scores), several(ranker.documents.size() > 1),
              rises(ranker.rises), falls(ranker.falls) {
            for (const Id& id : ranker.unknown) unknown.emplace_back(id.in(base));
        }
    };

    std::vector<std::string> names;
    std::vector<std::int32_t> sources;
    std::vector<std::int32_t> retrieved;
    std::vector<std::uint8_t> missing;
    std::vector<std::vector<std::string>> unjudged;  // for each run, its topics without judgments
    std::vector<std::vector<std::string>> tags;      // for each run, the tags of its file
    // For each run, its judged lists of several documents; those whose scores only rise along the file; those whose scores
    // are all equal.
    std::vector<std::int32_t> several, rising, level;
    std::size_t dropped = 0;    // duplicate lines
    std::size_t documents = 0;  // retrieved by all runs, with or without judgments

    LongColumn<std::int64_t> row;  // of each hit: run × topics + topic
    LongColumn<std::int32_t> rank, tie_first, tie_last;
    LongColumn<std::int32_t> document;  // its number among the judged documents
    LongColumn<std::int32_t> numbers;  // -1: the document has no number
    std::vector<std::string> unknown;  // the documents without a number, each once
    LongColumn<double> scores;

    void add_run(std::string name, std::int32_t source, std::vector<std::string> tags_of_file = {}) {
        names.push_back(std::move(name));
        tags.push_back(std::move(tags_of_file));
        several.push_back(0), rising.push_back(0), level.push_back(0);
        sources.push_back(source);
        retrieved.resize(names.size() * topics_, 0);
        missing.resize(names.size() * topics_, 1);
        unjudged.emplace_back();
    }

    std::size_t hits() const { return row.size(); }
    // About the memory that is used.
    std::size_t bytes() const {
        return row.size() * (sizeof(std::int64_t) + 4 * sizeof(std::int32_t)) + numbers.size() * sizeof(std::int32_t) +
               scores.size() * sizeof(double) + retrieved.size() * (sizeof(std::int32_t) + 1) + unknown.size() * 128;
    }
    void reserve(std::size_t hits) {
        row.reserve(hits), rank.reserve(hits), tie_first.reserve(hits), tie_last.reserve(hits), document.reserve(hits);
    }

    // Adds the lists of some runs, in any order, after those of all earlier runs.
    void add(std::vector<Part> parts, unsigned threads = 1) {
        std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.row < b.row; });
        std::vector<std::size_t> begins;
        std::size_t total = hits();
        for (const Part& part : parts) {
            begins.push_back(total);
            total += part.hits.size();
        }
        row.resize(total), rank.resize(total), tie_first.resize(total), tie_last.resize(total), document.resize(total);
        constexpr std::size_t kPartsAtOnce = 64;
        parallel_for((parts.size() + kPartsAtOnce - 1) / kPartsAtOnce, threads, {}, [&](std::size_t piece, unsigned) {
            const std::size_t end = std::min(parts.size(), (piece + 1) * kPartsAtOnce);
            for (std::size_t p = piece * kPartsAtOnce; p < end; ++p) put(parts[p], begins[p]);
        });
        for (const Part& part : parts) {
            numbers.insert(numbers.end(), part.numbers.begin(), part.numbers.end());
            scores.insert(scores.end(), part.scores.begin(), part.scores.end());
            for (const std::string& id : part.unknown)
                if (seen_.insert(id).second) unknown.push_back(id);
            if (part.several) {
                const std::size_t run = part.row / topics_;
                ++several[run];
                rising[run] += part.rises && !part.falls;
                level[run] += !part.rises && !part.falls;
            }
        }
    }

private:
    void put(const Part& part, std::size_t at) {
        for (const Hit& hit : part.hits) {
            row[at] = static_cast<std::int64_t>(part.row);
            rank[at] = hit.rank;
            tie_first[at] = hit.tie_first;
            tie_last[at] = hit.tie_last;
            document[at++] = hit.document;
        }
    }

    std::size_t topics_;
    std::unordered_set<std::string> seen_;  // documents in `unknown`
};

// Joins tables, which have no duplicates any more.
inline Joined join_tables(const Judged& judged, const std::vector<const Table*>& tables, const JoinOptions& options,
                          unsigned threads) {
    Joined joined(judged.topics.size());
    std::size_t most_hits = 0;
    for (const Table* table : tables) most_hits += table->size();
    joined.reserve(most_hits);  // reserved memory costs nothing until it is written
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
                ranker.documents.push_back({options.order == Order::rank ? -table.rank[i] : table.value[i], table.doc[i]});
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
    return joined;
}

}  // namespace cranfield
