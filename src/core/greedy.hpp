// The greedy ideal list of a topic with intents: a loop whose every step depends on those before.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "intents.hpp"

namespace cranfield {
namespace {

// The list that takes the document that gains most at every rank, of equal ones the last. An entry is worth `worth`, or 1
// where that is empty, and `lasting` times as much every time a document has served its intent; a document gains what its
// entries are worth, added in their order. Gains only fall, in floating point too, so what a document gained earlier bounds
// what it gains now: most need not be looked at again. (A heap of those bounds was slower: nearly all of them fall at every
// rank.)
class GreedyIdeal {
public:
    GreedyIdeal(const IntentEntries& entries, std::span<const double> worth, double lasting)
        : entries_(entries), worth_(worth), lasting_(lasting) {}

    void append(std::int64_t begin, std::int64_t end, std::size_t intents, std::size_t depth, std::vector<double>& gains) {
        take(begin, end, intents);
        for (std::size_t rank = 1; rank <= depth && !waiting_.empty(); ++rank) {
            std::size_t best = 0;
            gain_[0] = gain(waiting_[0]);
            for (std::size_t i = 1; i < waiting_.size(); ++i) {
                if (gain_[i] < gain_[best]) continue;
                gain_[i] = gain(waiting_[i]);
                const bool equal = gain_[i] == gain_[best];
                if (equal ? waiting_[i].document > waiting_[best].document : gain_[i] > gain_[best]) best = i;
            }
            gains.push_back(gain_[best]);
            for (std::size_t i = waiting_[best].begin; i < waiting_[best].end; ++i) left_[nth_[i]] *= lasting_;
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(best));
            gain_.erase(gain_.begin() + static_cast<std::ptrdiff_t>(best));
        }
    }

private:
    struct Candidate {
        std::int64_t document;
        std::size_t begin, end;  // its intents
        double first;            // what it gains at the first rank
    };

    double gain(const Candidate& candidate) const {
        double sum = 0.0;
        if (worth_.empty()) {
            for (std::size_t i = candidate.begin; i < candidate.end; ++i) sum += left_[nth_[i]];
        } else {
            for (std::size_t i = candidate.begin; i < candidate.end; ++i) sum += worth_here_[i] * left_[nth_[i]];
        }
        return sum;
    }

    // The documents of one topic that have entries, those that gain most first, which lets the others be passed over.
    void take(std::int64_t begin, std::int64_t end, std::size_t intents) {
        left_.assign(intents, 1.0);
        waiting_.clear();
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
            waiting_.push_back({document, first, nth_.size(), 0.0});
            waiting_.back().first = gain(waiting_.back());
        }
        std::stable_sort(waiting_.begin(), waiting_.end(), [](const Candidate& a, const Candidate& b) { return a.first > b.first; });
        gain_.clear();
        for (const Candidate& candidate : waiting_) gain_.push_back(candidate.first);
    }

    const IntentEntries& entries_;
    std::span<const double> worth_;
    double lasting_;
    std::vector<double> left_;  // of each intent
    std::vector<std::size_t> nth_;
    std::vector<double> worth_here_;
    std::vector<Candidate> waiting_;
    std::vector<double> gain_;  // of each, when it was last looked at
};

// What the greedy ideal list of each topic gains at every rank down to `depth`: (where each topic begins, gains). The
// documents of topic t are those from topic_start[t] up to topic_start[t + 1]; without `worth` every entry is worth 1.
nb::tuple py_greedy_ideal(const Column<std::int64_t>& topic_start, const Column<std::int64_t>& intents,
                          const Column<std::int64_t>& start, const Column<std::int32_t>& nth, const Column<double>& worth,
                          double lasting, std::size_t depth) {
    std::vector<std::int64_t> begins{0};
    std::vector<double> gains;
    {
        const nb::gil_scoped_release release;
        if (topic_start.size() != intents.size() + 1) throw std::invalid_argument("columns of different lengths");
        if (!(lasting >= 0.0 && lasting <= 1.0)) throw std::invalid_argument("lasting must be between 0 and 1");
        const std::span<const double> worths = span_of(worth);
        if (!worths.empty() && worths.size() != nth.size()) throw std::invalid_argument("columns of different lengths");
        if (!std::all_of(worths.begin(), worths.end(), [](double one) { return one >= 0.0 && std::isfinite(one); }))
            throw std::invalid_argument("an entry must be worth 0 or more");
        const IntentEntries entries(span_of(start), span_of(nth));
        std::vector<std::vector<double>> of_topic(intents.size());
        const unsigned threads = threads_for(nth.size());
        std::vector<GreedyIdeal> ideals(threads, GreedyIdeal(entries, worths, lasting));
        const WholeNumbers begin = span_of(topic_start), many = span_of(intents);
        parallel_for(intents.size(), threads, {}, [&](std::size_t topic, unsigned thread) {
            if (many[topic] < 0) throw std::out_of_range("fewer than no intents");
            ideals[thread].append(begin[topic], begin[topic + 1], static_cast<std::size_t>(many[topic]), depth, of_topic[topic]);
        });
        for (const std::vector<double>& part : of_topic) {
            gains.insert(gains.end(), part.begin(), part.end());
            begins.push_back(static_cast<std::int64_t>(gains.size()));
        }
    }
    return nb::make_tuple(to_numpy(std::move(begins)), to_numpy(std::move(gains)));
}

}  // namespace
}  // namespace cranfield
