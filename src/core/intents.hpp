// Hits intent by intent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "documents.hpp"

namespace cranfield {
namespace {

// Which documents are judged for which intents: document d has the entries from start[d] up to start[d + 1], and entry e
// is for the nth[e]-th intent of its topic.
class IntentEntries {
public:
    IntentEntries(WholeNumbers start, std::span<const std::int32_t> nth) : start_(start), nth_(nth) {
        if (start.empty() || start.front() < 0 || start.back() > static_cast<std::int64_t>(nth.size()) ||
            !std::is_sorted(start.begin(), start.end()))
            throw std::out_of_range("documents must begin and end among the entries");
    }

    // From the first entry of a document up to the one after its last.
    std::pair<std::size_t, std::size_t> of(std::int64_t document) const {
        const auto at = static_cast<std::size_t>(document);
        if (document < 0 || at + 1 >= start_.size()) throw std::out_of_range("no such document");
        return {static_cast<std::size_t>(start_[at]), static_cast<std::size_t>(start_[at + 1])};
    }
    // Which intent of its topic, which has so many of them, an entry is for.
    std::size_t nth(std::size_t entry, std::size_t many) const {
        const auto found = static_cast<std::size_t>(static_cast<std::uint32_t>(nth_[entry]));
        if (found >= many) throw std::out_of_range("no such intent of the topic");
        return found;
    }

private:
    WholeNumbers start_;
    std::span<const std::int32_t> nth_;
};

// Hits, sorted by list: calls work(first hit, hit after the last, intents of the list's topic) for every list.
template <typename Work>
void for_each_list(WholeNumbers row, WholeNumbers intents, const Work& work) {
    std::size_t hit = 0;
    for (std::size_t list = 0; list < intents.size(); ++list) {
        if (intents[list] < 0) throw std::out_of_range("fewer than no intents");
        const std::size_t first = hit;
        while (hit < row.size() && row[hit] == static_cast<std::int64_t>(list)) ++hit;
        work(first, hit, static_cast<std::size_t>(intents[list]));
    }
    if (hit < row.size()) throw std::invalid_argument("hits must be sorted by list");
}

// How many entries the documents have, each counted as often as it is there.
std::size_t entries_of(const IntentEntries& entries, WholeNumbers documents, std::size_t hits) {
    if (documents.size() != hits) throw std::invalid_argument("columns of different lengths");
    std::size_t total = 0;
    for (const std::int64_t document : documents) {
        const auto [begin, end] = entries.of(document);
        total += end - begin;
    }
    return total;
}

// Every hit as often as it has entries, in the order given: (hit, entry, how many hits above it in its list have an entry
// for the same intent).
nb::tuple py_intents_before(const Column<std::int64_t>& row, const Column<std::int64_t>& document,
                            const Column<std::int64_t>& intents, const Column<std::int64_t>& start,
                            const Column<std::int32_t>& nth) {
    std::vector<std::int64_t> hit_of, entry_of, before;
    {
        const nb::gil_scoped_release release;
        const IntentEntries entries(span_of(start), span_of(nth));
        const WholeNumbers documents = span_of(document);
        const std::size_t total = entries_of(entries, documents, row.size());
        hit_of.reserve(total), entry_of.reserve(total), before.reserve(total);
        std::vector<std::int64_t> seen;
        for_each_list(span_of(row), span_of(intents), [&](std::size_t first, std::size_t last, std::size_t many) {
            seen.assign(many, 0);
            for (std::size_t hit = first; hit < last; ++hit) {
                const auto [begin, end] = entries.of(documents[hit]);
                for (std::size_t entry = begin; entry < end; ++entry) {
                    hit_of.push_back(static_cast<std::int64_t>(hit));
                    entry_of.push_back(static_cast<std::int64_t>(entry));
                    before.push_back(seen[entries.nth(entry, many)]++);
                }
            }
        });
    }
    return nb::make_tuple(to_numpy(std::move(hit_of)), to_numpy(std::move(entry_of)), to_numpy(std::move(before)));
}

// Hits as often as they have entries, sorted by list and intent. Lists by intent are numbered one after the other, as many
// for each list as its topic has intents.
class HitsByIntent {
public:
    HitsByIntent(const Column<std::int64_t>& row, const Column<std::int64_t>& document, const Column<std::int64_t>& intents,
                 const Column<std::int64_t>& start, const Column<std::int32_t>& nth)
        : entries_(span_of(start), span_of(nth)), documents_(span_of(document)) {
        if (documents_.size() != row.size()) throw std::invalid_argument("columns of different lengths");
        for_each_list(span_of(row), span_of(intents), [&](std::size_t first, std::size_t last, std::size_t many) {
            shares_.push_back({first, last, many, total_, lists_});
            for (std::size_t hit = first; hit < last; ++hit) {
                const auto [begin, end] = entries_.of(documents_[hit]);
                total_ += end - begin;
            }
            lists_ += many;
        });
    }

    std::size_t size() const { return total_; }

    // Calls put(place, list by intent, hit, entry, how many stand above it in that list) for each, in any order, with several
    // threads. Returns where each list by intent begins, and where the last one ends.
    template <typename Put>
    LongColumn<std::int64_t> fill(const Put& put) const {
        LongColumn<std::int64_t> begins(lists_ + 1);
        begins[lists_] = static_cast<std::int64_t>(total_);
        constexpr std::size_t kListsAtOnce = 16;
        const unsigned threads = threads_for(total_);
        std::vector<std::vector<std::size_t>> places(threads);
        parallel_for((shares_.size() + kListsAtOnce - 1) / kListsAtOnce, threads, {}, [&](std::size_t piece, unsigned thread) {
            const std::size_t end = std::min(shares_.size(), (piece + 1) * kListsAtOnce);
            for (std::size_t list = piece * kListsAtOnce; list < end; ++list) fill(shares_[list], places[thread], begins, put);
        });
        return begins;
    }

private:
    struct Share {  // of one list: its hits, its intents, and where what it fills begins
        std::size_t first, last, many, filled, lists_before;
    };

    template <typename Put>
    void fill(const Share& share, std::vector<std::size_t>& next, LongColumn<std::int64_t>& begins, const Put& put) const {
        next.assign(share.many, 0);
        for (std::size_t hit = share.first; hit < share.last; ++hit) {
            const auto [begin, end] = entries_.of(documents_[hit]);
            for (std::size_t entry = begin; entry < end; ++entry) ++next[entries_.nth(entry, share.many)];
        }
        std::size_t filled = share.filled;
        for (std::size_t intent = 0; intent < share.many; ++intent) {
            begins[share.lists_before + intent] = static_cast<std::int64_t>(filled);
            filled += std::exchange(next[intent], filled);
        }
        for (std::size_t hit = share.first; hit < share.last; ++hit) {
            const auto [begin, end] = entries_.of(documents_[hit]);
            for (std::size_t entry = begin; entry < end; ++entry) {
                const std::size_t intent = entries_.nth(entry, share.many), list = share.lists_before + intent;
                const std::size_t at = next[intent]++;
                put(at, list, hit, entry, at - static_cast<std::size_t>(begins[list]));
            }
        }
    }

    IntentEntries entries_;
    WholeNumbers documents_;
    std::vector<Share> shares_;
    std::size_t total_ = 0, lists_ = 0;
};

// (number of the list and intent, hit, entry) of each.
nb::tuple py_hits_by_intent(const Column<std::int64_t>& row, const Column<std::int64_t>& document,
                            const Column<std::int64_t>& intents, const Column<std::int64_t>& start,
                            const Column<std::int32_t>& nth) {
    LongColumn<std::int64_t> number, hit_of, entry_of;
    {
        const nb::gil_scoped_release release;
        const HitsByIntent hits(row, document, intents, start, nth);
        number.resize(hits.size()), hit_of.resize(hits.size()), entry_of.resize(hits.size());
        hits.fill([&](std::size_t at, std::size_t list, std::size_t hit, std::size_t entry, std::size_t) {
            number[at] = static_cast<std::int64_t>(list);
            hit_of[at] = static_cast<std::int64_t>(hit);
            entry_of[at] = static_cast<std::int64_t>(entry);
        });
    }
    return nb::make_tuple(to_numpy(std::move(number)), to_numpy(std::move(hit_of)), to_numpy(std::move(entry_of)));
}

// (where each list by intent begins; of every hit there: 1 for the first, 2 for the next, ...; rank; grade), without a look at
// which hit or entry it is.
nb::tuple py_lists_by_intent(const Column<std::int64_t>& row, const Column<std::int64_t>& document,
                             const Column<std::int64_t>& intents, const Column<std::int64_t>& start,
                             const Column<std::int32_t>& nth, const Column<std::int32_t>& rank, const Column<double>& grade) {
    LongColumn<std::int64_t> begins;
    LongColumn<std::int32_t> nth_of, rank_of;
    LongColumn<double> grade_of;
    {
        const nb::gil_scoped_release release;
        const HitsByIntent hits(row, document, intents, start, nth);
        const std::span<const std::int32_t> ranks = span_of(rank);
        const std::span<const double> grades = span_of(grade);
        if (ranks.size() != row.size() || grades.size() != nth.size()) throw std::invalid_argument("columns of different lengths");
        nth_of.resize(hits.size()), rank_of.resize(hits.size()), grade_of.resize(hits.size());
        begins = hits.fill([&](std::size_t at, std::size_t, std::size_t hit, std::size_t entry, std::size_t above) {
            nth_of[at] = static_cast<std::int32_t>(above + 1);
            rank_of[at] = ranks[hit];
            grade_of[at] = grades[entry];
        });
    }
    return nb::make_tuple(to_numpy(std::move(begins)), to_numpy(std::move(nth_of)), to_numpy(std::move(rank_of)),
                          to_numpy(std::move(grade_of)));
}

}  // namespace
}  // namespace cranfield
