// Hits, intent by intent.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "documents.hpp"
#include "memory.hpp"
#include "parallel.hpp"

namespace cranfield {

// Which documents are judged for which intents: document d has the entries from start[d] up to start[d + 1], and entry e
// is for the nth[e]-th intent of its topic.
class IntentEntries {
public:
    IntentEntries(WholeNumbers start, std::span<const std::int32_t> nth) : start_(start), nth_(nth) {
        if (start.empty() || start.front() < 0 || start.back() > static_cast<std::int64_t>(nth.size()) ||
            !std::is_sorted(start.begin(), start.end()))
            throw std::out_of_range("the entries of a document must be among the entries");
    }

    std::size_t size() const { return nth_.size(); }
    // The first entry of a document, and the one after its last.
    std::pair<std::size_t, std::size_t> of(std::int64_t document) const {
        const auto at = static_cast<std::size_t>(document);
        if (document < 0 || at + 1 >= start_.size()) throw std::out_of_range("no such document");
        return {static_cast<std::size_t>(start_[at]), static_cast<std::size_t>(start_[at + 1])};
    }
    // Which of the topic's intents an entry is for.
    std::size_t nth(std::size_t entry, std::size_t intents_of_topic) const {
        const auto intent = static_cast<std::size_t>(static_cast<std::uint32_t>(nth_[entry]));
        if (intent >= intents_of_topic) throw std::out_of_range("the topic has no such intent");
        return intent;
    }

private:
    WholeNumbers start_;
    std::span<const std::int32_t> nth_;
};

// Calls work(first hit, hit after the last, intents of the list's topic) for every list. Hits are sorted by list.
template <typename Work>
void for_each_list(WholeNumbers row, WholeNumbers intents, const Work& work) {
    std::size_t hit = 0;
    for (std::size_t list = 0; list < intents.size(); ++list) {
        if (intents[list] < 0) throw std::out_of_range("a topic has a negative number of intents");
        const std::size_t first = hit;
        while (hit < row.size() && row[hit] == static_cast<std::int64_t>(list)) ++hit;
        work(first, hit, static_cast<std::size_t>(intents[list]));
    }
    if (hit < row.size()) throw std::invalid_argument("hits must be sorted by list");
}

// One entry of each column for every hit and every entry of its document, in the order of the hits.
struct IntentsBefore {
    std::vector<std::int64_t> hit, entry;
    std::vector<std::int64_t> before;  // how many hits above it in the list have an entry for the same intent
};

inline IntentsBefore intents_before(WholeNumbers row, WholeNumbers documents, WholeNumbers intents, const IntentEntries& entries) {
    if (documents.size() != row.size()) throw std::invalid_argument("columns of different lengths");
    std::size_t total = 0;
    for (const std::int64_t document : documents) {
        const auto [begin, end] = entries.of(document);
        total += end - begin;
    }
    IntentsBefore out;
    out.hit.reserve(total), out.entry.reserve(total), out.before.reserve(total);
    std::vector<std::int64_t> seen;
    for_each_list(row, intents, [&](std::size_t first, std::size_t last, std::size_t many) {
        seen.assign(many, 0);
        for (std::size_t hit = first; hit < last; ++hit) {
            const auto [begin, end] = entries.of(documents[hit]);
            for (std::size_t entry = begin; entry < end; ++entry) {
                out.hit.push_back(static_cast<std::int64_t>(hit));
                out.entry.push_back(static_cast<std::int64_t>(entry));
                out.before.push_back(seen[entries.nth(entry, many)]++);
            }
        }
    });
    return out;
}

// Hits with each of their entries, sorted by list and intent. Each list is read once per intent of its topic; these lists
// by intent are numbered one after the other.
class HitsByIntent {
public:
    HitsByIntent(WholeNumbers row, WholeNumbers documents, WholeNumbers intents, const IntentEntries& entries)
        : entries_(entries), documents_(documents) {
        if (documents_.size() != row.size()) throw std::invalid_argument("columns of different lengths");
        for_each_list(row, intents, [&](std::size_t first, std::size_t last, std::size_t many) {
            shares_.push_back({first, last, many, total_, lists_});
            for (std::size_t hit = first; hit < last; ++hit) {
                const auto [begin, end] = entries_.of(documents_[hit]);
                total_ += end - begin;
            }
            lists_ += many;
        });
    }

    std::size_t size() const { return total_; }

    // Calls put(place, list by intent, hit, entry, hits above it in that list) for each hit and entry, in any order, with
    // several threads. Returns where each list by intent begins, and where the last one ends.
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
    struct Share {  // of one list
        std::size_t first, last;   // its hits
        std::size_t many;          // intents of its topic
        std::size_t filled;        // where its output begins
        std::size_t lists_before;  // lists by intent before its own
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

}  // namespace cranfield
