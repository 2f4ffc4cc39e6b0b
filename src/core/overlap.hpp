// What two texts have in common: n-grams, skip-bigrams, common subsequences. The counts behind ROUGE and BLEU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "subsequence.hpp"
#include "words.hpp"

namespace cranfield {

enum class Unit { ngram, skip_bigram, skip_bigram_and_word, subsequence, subsequence_by_sentence, weighted, weighted_by_sentence };

struct OverlapOptions {
    Unit unit = Unit::ngram;
    std::size_t n = 1;             // words of an n-gram
    std::int64_t skip = -1;        // the most words between the two of a skip-bigram; below 0: any number
    bool last_word = true;         // does the last word of a text count as a unigram of `skip_bigram_and_word`?
    bool clip = true;              // by sentence, a word of the system counts for one word of the reference only
    double weight = 1.2;           // of `weighted`
};

// How much of the units of a reference a system has, and how many units both have.
struct Overlap {
    double hits = 0, reference = 0, system = 0;
};

// n-grams in order, each with its first word and its number of occurrences.
class Grams {
public:
    struct Entry {
        const std::int32_t* first;
        std::int64_t count;
    };
    std::vector<Entry> entries;

    void count(WordSpan text, std::size_t n) {
        entries.clear();
        starts_.clear();
        if (text.size() < n) return;
        for (std::size_t i = 0; i + n <= text.size(); ++i) starts_.push_back(text.data() + i);
        std::sort(starts_.begin(), starts_.end(), [n](const std::int32_t* a, const std::int32_t* b) { return compare(a, b, n) < 0; });
        for (const std::int32_t* start : starts_) {
            if (!entries.empty() && compare(entries.back().first, start, n) == 0)
                ++entries.back().count;
            else
                entries.push_back({start, 1});
        }
    }
    static int compare(const std::int32_t* a, const std::int32_t* b, std::size_t n) {
        for (std::size_t k = 0; k < n; ++k)
            if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
        return 0;
    }

private:
    std::vector<const std::int32_t*> starts_;
};

// Calls both(a, b) for every n-gram that is in both, with its entries.
template <typename Both>
void for_common(const Grams& first, const Grams& second, std::size_t n, const Both& both) {
    std::size_t a = 0, b = 0;
    while (a < first.entries.size() && b < second.entries.size()) {
        const int order = Grams::compare(first.entries[a].first, second.entries[b].first, n);
        if (order == 0) both(a, b);
        a += order <= 0;
        b += order >= 0;
    }
}

// Compares texts; holds what it needs for that, so that one thread uses it for many pairs.
class TextComparison {
public:
    TextComparison(const Words& words, OverlapOptions options)
        : words_(words), options_(options), common_(words.vocabulary.size()), weighted_(options.weight), count_(words.vocabulary.size(), 0) {}

    Overlap of(std::size_t system, std::size_t reference) {
        const WordSpan s = words_.text(system), r = words_.text(reference);
        switch (options_.unit) {
            case Unit::ngram: return ngrams(s, r);
            case Unit::skip_bigram: return skip_bigrams(s, r);
            case Unit::skip_bigram_and_word: {
                Overlap sum = skip_bigrams(s, r);
                const std::size_t left_out = options_.last_word ? 0 : 1;
                const Overlap one = words(s.first(s.size() - std::min(s.size(), left_out)), r.first(r.size() - std::min(r.size(), left_out)));
                return {sum.hits + one.hits, sum.reference + one.reference, sum.system + one.system};
            }
            case Unit::subsequence: return {static_cast<double>(common_.length(r, s)), static_cast<double>(r.size()), static_cast<double>(s.size())};
            case Unit::weighted:
                return {r.empty() || s.empty() ? 0 : weighted_.best(r, s), weighted_.worth(static_cast<double>(r.size())), weighted_.worth(static_cast<double>(s.size()))};
            default: return by_sentence(system, reference);
        }
    }

    // Marks the words of the reference that a common subsequence holds: of the whole texts, or the union over sentences.
    std::vector<char> marked(std::size_t system, std::size_t reference) {
        std::vector<char> hit(words_.text(reference).size(), 0);
        if (options_.unit == Unit::subsequence)
            common_.mark(words_.text(reference), words_.text(system), hit);
        else if (options_.unit == Unit::weighted)
            weighted_.mark(words_.text(reference), words_.text(system), hit);
        else
            by_sentence(system, reference, &hit);
        return hit;
    }

private:
    static std::int64_t grams_in(std::size_t words, std::size_t n) { return words < n ? 0 : static_cast<std::int64_t>(words - n + 1); }

    Overlap words(WordSpan s, WordSpan r) {
        std::int64_t hits = 0;
        for (const std::int32_t word : s) ++count_[static_cast<std::size_t>(word)];
        for (const std::int32_t word : r)
            if (std::int32_t& left = count_[static_cast<std::size_t>(word)]; left > 0) --left, ++hits;
        for (const std::int32_t word : s) count_[static_cast<std::size_t>(word)] = 0;
        return {static_cast<double>(hits), static_cast<double>(r.size()), static_cast<double>(s.size())};
    }

    Overlap ngrams(WordSpan s, WordSpan r) {
        if (options_.n == 1) return words(s, r);
        system_.count(s, options_.n);
        reference_.count(r, options_.n);
        std::int64_t hits = 0;
        for_common(system_, reference_, options_.n,
                   [&](std::size_t a, std::size_t b) { hits += std::min(system_.entries[a].count, reference_.entries[b].count); });
        return {static_cast<double>(hits), static_cast<double>(grams_in(r.size(), options_.n)), static_cast<double>(grams_in(s.size(), options_.n))};
    }

    // Pairs of words in order, at most `skip` words apart. Pairs are counted first word by first word, so that memory is linear.
    Overlap skip_bigrams(WordSpan s, WordSpan r) {
        const std::size_t reach = options_.skip < 0 ? std::max(s.size(), r.size()) : static_cast<std::size_t>(options_.skip) + 1;
        sort_places(s, system_places_);
        sort_places(r, reference_places_);
        std::int64_t hits = 0;
        std::size_t a = 0, b = 0;
        while (a < s.size() && b < r.size()) {
            const std::int32_t first = s[system_places_[a]], other = r[reference_places_[b]];
            if (first != other) {
                a += first < other;
                b += other < first;
                continue;
            }
            seen_.clear();
            for (; a < s.size() && s[system_places_[a]] == first; ++a)
                for (const std::int32_t second : following(s, system_places_[a], reach))
                    if (count_[static_cast<std::size_t>(second)]++ == 0) seen_.push_back(second);
            for (; b < r.size() && r[reference_places_[b]] == first; ++b)
                for (const std::int32_t second : following(r, reference_places_[b], reach))
                    if (std::int32_t& left = count_[static_cast<std::size_t>(second)]; left > 0) --left, ++hits;
            for (const std::int32_t second : seen_) count_[static_cast<std::size_t>(second)] = 0;
        }
        return {static_cast<double>(hits), skip_bigrams_in(r.size(), reach), skip_bigrams_in(s.size(), reach)};
    }
    static WordSpan following(WordSpan text, std::size_t place, std::size_t reach) {
        return text.subspan(place + 1, std::min(reach, text.size() - place - 1));
    }
    static void sort_places(WordSpan text, std::vector<std::size_t>& places) {
        places.resize(text.size());
        std::iota(places.begin(), places.end(), std::size_t{0});
        std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return text[a] < text[b]; });
    }
    static double skip_bigrams_in(std::size_t length, std::size_t reach) {
        const auto n = static_cast<double>(length), k = static_cast<double>(std::min(reach, length == 0 ? 0 : length - 1));
        return n * k - k * (k + 1) / 2;
    }

    Overlap by_sentence(std::size_t system, std::size_t reference, std::vector<char>* kept = nullptr) {
        const bool weighs = options_.unit == Unit::weighted_by_sentence;
        const WordSpan s = words_.text(system);
        for (const std::int32_t word : s) ++count_[static_cast<std::size_t>(word)];
        Overlap sum;
        std::size_t before = 0;
        for (std::size_t i = words_.first_sentence(reference); i < words_.last_sentence(reference); ++i) {
            const WordSpan sentence = words_.sentence(i);
            hit_.assign(sentence.size(), 0);
            for (std::size_t j = words_.first_sentence(system); j < words_.last_sentence(system); ++j)
                weighs ? weighted_.mark(sentence, words_.sentence(j), hit_) : common_.mark(sentence, words_.sentence(j), hit_);
            sum.hits += weighs ? worth_of_runs(sentence, kept, before) : clipped(sentence, kept, before);
            sum.reference += weighs ? weighted_.worth(static_cast<double>(sentence.size())) : static_cast<double>(sentence.size());
            before += sentence.size();
        }
        for (const std::int32_t word : s) count_[static_cast<std::size_t>(word)] = 0;
        sum.system = weighs ? weighted_.worth(static_cast<double>(s.size())) : static_cast<double>(s.size());
        return sum;
    }
    bool spend(std::int32_t word) {
        if (!options_.clip) return true;
        std::int32_t& left = count_[static_cast<std::size_t>(word)];
        return left > 0 && left-- > 0;
    }
    double clipped(WordSpan sentence, std::vector<char>* kept, std::size_t before) {
        double hits = 0;
        for (std::size_t j = 0; j < sentence.size(); ++j)
            if (hit_[j] && spend(sentence[j])) {
                ++hits;
                if (kept) (*kept)[before + j] = 1;
            }
        return hits;
    }
    // As ROUGE-1.5.5 counts: a run ends where the next word is not marked; a marked word that is spent does not lengthen it.
    double worth_of_runs(WordSpan sentence, std::vector<char>* kept, std::size_t before) {
        double worth = 0, run = 0;
        for (std::size_t j = 0; j < sentence.size(); ++j) {
            if (!hit_[j] || !spend(sentence[j])) continue;
            ++run;
            if (kept) (*kept)[before + j] = 1;
            if (j + 1 == sentence.size() || !hit_[j + 1]) {
                worth += weighted_.worth(run);
                run = 0;
            }
        }
        return worth;
    }

    const Words& words_;
    OverlapOptions options_;
    CommonSubsequence common_;
    WeightedSubsequence weighted_;
    std::vector<std::int32_t> count_;  // by word; 0 between calls
    std::vector<std::int32_t> seen_;
    std::vector<std::size_t> system_places_, reference_places_;
    std::vector<char> hit_;
    Grams system_, reference_;
};

// The counts of BLEU for one system text: for n = 1, 2, ..., its n-grams that references have, each at most as often as the
// reference that has it most often; and all its n-grams.
class ClippedGrams {
public:
    void count(WordSpan system, std::span<const WordSpan> references, std::size_t most, std::int64_t* matched, std::int64_t* total) {
        for (std::size_t n = 1; n <= most; ++n) {
            system_.count(system, n);
            allowed_.assign(system_.entries.size(), 0);
            for (const WordSpan reference : references) {
                reference_.count(reference, n);
                for_common(system_, reference_, n, [&](std::size_t a, std::size_t b) {
                    allowed_[a] = std::max(allowed_[a], std::min(system_.entries[a].count, reference_.entries[b].count));
                });
            }
            matched[n - 1] = std::accumulate(allowed_.begin(), allowed_.end(), std::int64_t{0});
            total[n - 1] = system.size() < n ? 0 : static_cast<std::int64_t>(system.size() - n + 1);
        }
    }

private:
    Grams system_, reference_;
    std::vector<std::int64_t> allowed_;
};

}  // namespace cranfield
