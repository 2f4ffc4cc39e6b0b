// The greedy ideal list of a topic with intents. Each step depends on the steps before, so numpy cannot do it.
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "intents.hpp"

namespace cranfield {

// Takes the document with the largest gain at every rank; of equal gains, the last document. An entry is worth `worth` (1 if
// that is empty) times the `share` of its intent (1 if that is empty), times `lasting` for each document above it that serves
// the same intent. Without `lasting`, worths are probabilities to satisfy a reader, and a document leaves 1 - worth of the
// intent to those below it. The gain of a document is the sum over its entries, added in their order. Gains never rise, in floating point too, so an earlier gain is an upper bound of
// the present one and most documents need not be looked at again. (A heap of these bounds was slower: nearly all of them
// fall at every rank.) Documents with the same entries always have the same gain, so they are one candidate.
class GreedyIdeal {
public:
    GreedyIdeal(const IntentEntries& entries, std::span<const double> worth, std::optional<double> lasting)
        : entries_(entries), worth_(worth), lasting_(lasting) {}

    // Appends the gains of the topic with documents from `begin` up to `end`; `share` has one number per intent of the topic,
    // or none.
    void append(std::int64_t begin, std::int64_t end, std::size_t intents, std::span<const double> share, std::size_t depth,
                std::vector<double>& gains) {
        left_.assign(intents, 1.0);
        std::copy(share.begin(), share.end(), left_.begin());
        take(begin, end, intents);
        for (std::size_t rank = 1; rank <= depth && !waiting_.empty(); ++rank) {
            std::size_t best = 0;
            gain_[0] = gain(waiting_[0]);
            for (std::size_t i = 1; i < waiting_.size(); ++i) {
                if (gain_[i] < gain_[best]) continue;
                gain_[i] = gain(waiting_[i]);
                const bool equal = gain_[i] == gain_[best];
                if (equal ? last(waiting_[i]) > last(waiting_[best]) : gain_[i] > gain_[best]) best = i;
            }
            gains.push_back(gain_[best]);
            for (std::size_t i = waiting_[best].begin; i < waiting_[best].end; ++i) left_[nth_[i]] *= lasting_ ? *lasting_ : 1.0 - worth_here_[i];
            if (--waiting_[best].members_end > waiting_[best].members_begin) continue;
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(best));
            gain_.erase(gain_.begin() + static_cast<std::ptrdiff_t>(best));
        }
    }

private:
    struct Candidate {                          // documents with the same entries
        std::size_t begin, end;                 // their intents
        std::size_t members_begin, members_end;  // those that are not taken yet, in ascending order
        double first;                           // their gain at the first rank
    };

    struct Document {
        std::int64_t number;
        std::size_t begin, end;  // its intents
    };

    std::int64_t last(const Candidate& candidate) const { return documents_[candidate.members_end - 1].number; }

    // Compares the entries of two documents.
    std::strong_ordering compare(const Document& a, const Document& b) const {
        if (const auto size = a.end - a.begin <=> b.end - b.begin; size != 0) return size;
        for (std::size_t i = a.begin, j = b.begin; i < a.end; ++i, ++j) {
            if (const auto intent = nth_[i] <=> nth_[j]; intent != 0) return intent;
            if (worth_.empty() || worth_here_[i] == worth_here_[j]) continue;
            return worth_here_[i] < worth_here_[j] ? std::strong_ordering::less : std::strong_ordering::greater;
        }
        return std::strong_ordering::equal;
    }

    double gain(const Candidate& candidate) const {
        double sum = 0.0;
        if (worth_.empty()) {
            for (std::size_t i = candidate.begin; i < candidate.end; ++i) sum += left_[nth_[i]];
        } else {
            for (std::size_t i = candidate.begin; i < candidate.end; ++i) sum += worth_here_[i] * left_[nth_[i]];
        }
        return sum;
    }

    // Collects the documents of a topic that have entries, as candidates, largest gain first: then most bounds are below the best gain.
    void take(std::int64_t begin, std::int64_t end, std::size_t intents) {
        waiting_.clear();
        documents_.clear();
        nth_.clear();
        worth_here_.clear();
        for (std::int64_t document = begin; document < end; ++document) {
            const std::size_t first = nth_.size();
            const auto [entry, after] = entries_.of(document);
            for (std::size_t i = entry; i < after; ++i) nth_.push_back(entries_.nth(i, intents));
            if (nth_.size() == first) continue;
            if (!worth_.empty()) {
                const auto here = worth_.subspan(entry, after - entry);
                worth_here_.insert(worth_here_.end(), here.begin(), here.end());
            }
            documents_.push_back({document, first, nth_.size()});
        }
        std::sort(documents_.begin(), documents_.end(), [this](const Document& a, const Document& b) {
            const auto order = compare(a, b);
            return order == 0 ? a.number < b.number : order < 0;
        });
        for (std::size_t i = 0; i < documents_.size(); ++i) {
            if (i == 0 || compare(documents_[i - 1], documents_[i]) != 0) {
                waiting_.push_back({documents_[i].begin, documents_[i].end, i, i, 0.0});
                waiting_.back().first = gain(waiting_.back());
            }
            waiting_.back().members_end = i + 1;
        }
        std::stable_sort(waiting_.begin(), waiting_.end(), [](const Candidate& a, const Candidate& b) { return a.first > b.first; });
        gain_.clear();
        for (const Candidate& candidate : waiting_) gain_.push_back(candidate.first);
    }

    const IntentEntries& entries_;
    std::span<const double> worth_;
    std::optional<double> lasting_;
    std::vector<double> left_;  // what is left of each intent below the documents taken
    std::vector<std::size_t> nth_;
    std::vector<double> worth_here_;
    std::vector<Document> documents_;
    std::vector<Candidate> waiting_;
    std::vector<double> gain_;  // of each candidate, when it was last computed
};

struct IdealGains {
    std::vector<std::int64_t> begins{0};  // where the gains of each topic begin
    std::vector<double> gains;            // rank by rank
};

// The gains of each topic's greedy ideal list down to `depth`. The documents of topic t are those from topic_start[t] up to
// topic_start[t + 1].
inline IdealGains greedy_ideal(WholeNumbers topic_start, WholeNumbers intents, const IntentEntries& entries,
                               std::span<const double> worth, std::span<const double> share, std::optional<double> lasting,
                               std::size_t depth) {
    if (topic_start.size() != intents.size() + 1) throw std::invalid_argument("columns of different lengths");
    if (lasting && !(*lasting >= 0.0 && *lasting <= 1.0)) throw std::invalid_argument("lasting must be between 0 and 1");
    if (!worth.empty() && worth.size() != entries.size()) throw std::invalid_argument("columns of different lengths");
    if (!std::all_of(worth.begin(), worth.end(), [](double value) { return value >= 0.0 && std::isfinite(value); }))
        throw std::invalid_argument("the worth of an entry must be 0 or more");
    if (!lasting && (worth.size() != entries.size() || std::any_of(worth.begin(), worth.end(), [](double value) { return value > 1.0; })))
        throw std::invalid_argument("without lasting, the worth of an entry must be between 0 and 1");
    std::vector<std::size_t> first_intent{0};  // of each topic
    for (const std::int64_t count : intents) {
        if (count < 0) throw std::out_of_range("a topic has a negative number of intents");
        first_intent.push_back(first_intent.back() + static_cast<std::size_t>(count));
    }
    if (!share.empty() && share.size() != first_intent.back()) throw std::invalid_argument("columns of different lengths");
    if (!std::all_of(share.begin(), share.end(), [](double value) { return value >= 0.0 && std::isfinite(value); }))
        throw std::invalid_argument("the share of an intent must be 0 or more");
    std::vector<std::vector<double>> of_topic(intents.size());
    const unsigned threads = threads_for(entries.size());
    std::vector<GreedyIdeal> ideals(threads, GreedyIdeal(entries, worth, lasting));
    parallel_for(intents.size(), threads, {}, [&](std::size_t topic, unsigned thread) {
        const auto count = static_cast<std::size_t>(intents[topic]);
        const auto shares = share.empty() ? share : share.subspan(first_intent[topic], count);
        ideals[thread].append(topic_start[topic], topic_start[topic + 1], count, shares, depth, of_topic[topic]);
    });
    IdealGains out;
    for (const std::vector<double>& gains : of_topic) {
        out.gains.insert(out.gains.end(), gains.begin(), gains.end());
        out.begins.push_back(static_cast<std::int64_t>(out.gains.size()));
    }
    return out;
}

}  // namespace cranfield
