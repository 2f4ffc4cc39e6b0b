// Resampling tests of many pairs of systems at once: bootstrap, sign flips, permutations.
//
// Resample b depends only on (seed, b), and the results are integer counts, or one number per resample or pair. So neither the
// number of threads nor the way in which the resamples are divided among calls changes a result.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "parallel.hpp"

// A second copy of the hot loops for processors with wider vectors. It adds in the same order and without fused
// multiplication, so both copies give the same bits. glibc chooses the copy when the module is loaded.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(CRANFIELD_PORTABLE)
#define CRANFIELD_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define CRANFIELD_WIDE
#endif

namespace cranfield {

// xoshiro256++ (Blackman & Vigna, 2021), seeded by splitmix64 from the seed and the number of the resample.
class Random {
public:
    Random(std::uint64_t seed, std::uint64_t resample) {
        std::uint64_t state = mixed(seed + kGolden) ^ mixed(resample * kGolden + 1);
        for (std::uint64_t& word : state_) word = mixed(state += kGolden);
    }

    std::uint64_t bits() {
        const std::uint64_t result = rotated(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotated(state_[3], 45);
        return result;
    }

    // Uniform on 0 .. n-1, without bias (Lemire, 2019): a product whose low half falls in the uneven rest is rejected.
    std::uint32_t below(std::uint32_t n) {
        std::uint64_t product = (bits() >> 32) * n;
        if (static_cast<std::uint32_t>(product) < n) {
            const std::uint32_t rest = (0u - n) % n;
            while (static_cast<std::uint32_t>(product) < rest) product = (bits() >> 32) * n;
        }
        return static_cast<std::uint32_t>(product >> 32);
    }

private:
    static constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
    static std::uint64_t rotated(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
    static std::uint64_t mixed(std::uint64_t x) {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
        x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
        return x ^ (x >> 31);
    }
    std::uint64_t state_[4];
};

constexpr std::size_t kTile = 8;   // resamples worked on together
constexpr std::size_t kGroup = 4;  // rows (of systems or pairs) worked on together

// One number for each resample of a tile; aligned, so that vectors are loaded whole.
struct alignas(64) Lanes {
    double at[kTile] = {};
};

// The weight of each topic in each resample: tile by tile of resamples, in a tile topic by topic.
struct Weights {
    std::size_t topics = 0;
    std::size_t resamples = 0;
    std::vector<Lanes> values;

    Weights(std::size_t all_topics, std::size_t all_resamples)
        : topics(all_topics), resamples(all_resamples), values(((all_resamples + kTile - 1) / kTile) * all_topics) {}
    std::size_t tiles() const { return (resamples + kTile - 1) / kTile; }
    Lanes* tile(std::size_t number) { return values.data() + number * topics; }
    const Lanes* tile(std::size_t number) const { return values.data() + number * topics; }
};

enum class Draw { topics, signs, all_signs };

// topics: how often each topic is drawn, with replacement. signs: +1 or -1 for each topic. all_signs: bit t of b is the sign of
// topic t.
inline void fill_tile(Weights& weights, std::size_t tile, Draw draw, std::uint64_t seed, std::uint64_t begin) {
    Lanes* values = weights.tile(tile);
    const std::size_t last = std::min(weights.resamples, (tile + 1) * kTile);
    for (std::size_t r = tile * kTile; r < last; ++r) {
        const std::uint64_t resample = begin + r;
        const std::size_t lane = r % kTile;
        Random random(seed, resample);
        if (draw == Draw::topics) {
            const auto n = static_cast<std::uint32_t>(weights.topics);
            for (std::uint32_t i = 0; i < n; ++i) values[random.below(n)].at[lane] += 1.0;
            continue;
        }
        std::uint64_t word = resample;
        for (std::size_t t = 0; t < weights.topics; ++t, word >>= 1) {
            if (draw == Draw::signs && t % 64 == 0) word = random.bits();
            values[t].at[lane] = word & 1 ? -1.0 : 1.0;
        }
    }
}

// sums[g].at[r] = sum over topics t of rows[t * kGroup + g] * weights[t].at[r]
#if defined(__GNUC__) && !defined(CRANFIELD_PORTABLE)
// Without help, compilers put the rows side by side in a vector, not the resamples, and lose time shuffling.
using Half = double __attribute__((vector_size(kTile / 2 * sizeof(double)), may_alias));
CRANFIELD_WIDE inline void weighted_sums(const Lanes* __restrict weights, const double* __restrict rows, std::size_t topics,
                                         Lanes* __restrict sums) {
    Half a = {}, b = {}, c = {}, d = {}, e = {}, f = {}, g = {}, h = {};
    for (std::size_t t = 0; t < topics; ++t) {
        const Half* weight = reinterpret_cast<const Half*>(weights[t].at);
        const Half low = weight[0], high = weight[1];
        const double* row = rows + t * kGroup;
        a += row[0] * low;
        b += row[0] * high;
        c += row[1] * low;
        d += row[1] * high;
        e += row[2] * low;
        f += row[2] * high;
        g += row[3] * low;
        h += row[3] * high;
    }
    Half* out = reinterpret_cast<Half*>(sums[0].at);
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
    out[4] = e;
    out[5] = f;
    out[6] = g;
    out[7] = h;
}
#else
inline void weighted_sums(const Lanes* weights, const double* rows, std::size_t topics, Lanes* sums) {
    for (std::size_t g = 0; g < kGroup; ++g) {
        Lanes sum;
        for (std::size_t t = 0; t < topics; ++t)
            for (std::size_t r = 0; r < kTile; ++r) sum.at[r] += rows[t * kGroup + g] * weights[t].at[r];
        sums[g] = sum;
    }
}
#endif

inline void place(const Lanes& sums, double* where) {
    for (std::size_t r = 0; r < kTile; ++r) where[r] = sums.at[r];
}

// How many |u - v| (or u - v, if one-sided) reach the limit.
CRANFIELD_WIDE inline std::int64_t count_reaching(const double* u, const double* v, std::size_t n, double limit, bool two_sided) {
    std::int64_t count = 0;
    if (two_sided)
        for (std::size_t r = 0; r < n; ++r) count += std::fabs(u[r] - v[r]) >= limit;
    else
        for (std::size_t r = 0; r < n; ++r) count += u[r] - v[r] >= limit;
    return count;
}

// Scores, system by system, and the pairs to compare.
struct Pairs {
    const double* scores;
    std::size_t systems, topics;
    const std::int64_t* first;
    const std::int64_t* second;
    std::size_t size;
};

// Weighted sums of every system, a row of `padded` resamples each.
struct Sums {
    std::size_t padded = 0;
    std::vector<double> values;
    const double* of(std::int64_t system) const { return values.data() + static_cast<std::size_t>(system) * padded; }
};

// Returns false if the watch stopped it.
inline bool sum_systems(const Pairs& pairs, Draw draw, std::uint64_t seed, std::uint64_t begin, unsigned threads,
                        const Watch& watch, Weights& weights, Sums& sums) {
    const std::size_t groups = (pairs.systems + kGroup - 1) / kGroup;
    sums.padded = weights.tiles() * kTile;
    sums.values.resize(groups * kGroup * sums.padded);
    // Group by group, in a group topic by topic; the last group is padded with zeros.
    std::vector<double> rows(groups * kGroup * pairs.topics, 0.0);
    for (std::size_t s = 0; s < pairs.systems; ++s)
        for (std::size_t t = 0; t < pairs.topics; ++t)
            rows[(s / kGroup * pairs.topics + t) * kGroup + s % kGroup] = pairs.scores[s * pairs.topics + t];
    const std::size_t in_piece = 16;
    return parallel_for((weights.tiles() + in_piece - 1) / in_piece, threads, watch, [&](std::size_t piece, unsigned) {
        std::array<Lanes, kGroup> out;
        const std::size_t last = std::min(weights.tiles(), (piece + 1) * in_piece);
        for (std::size_t tile = piece * in_piece; tile < last; ++tile) {
            fill_tile(weights, tile, draw, seed, begin);
            for (std::size_t group = 0; group < groups; ++group) {
                weighted_sums(weights.tile(tile), rows.data() + group * kGroup * pairs.topics, pairs.topics, out.data());
                for (std::size_t g = 0; g < kGroup; ++g)
                    place(out[g], sums.values.data() + (group * kGroup + g) * sums.padded + tile * kTile);
            }
        }
    });
}

// For each pair, how many sign vectors of [begin, end) give a sum of differences that reaches its limit.
inline bool count_flips(const Pairs& pairs, const double* limits, bool two_sided, bool all, std::uint64_t seed,
                        std::uint64_t begin, std::uint64_t end, unsigned threads, const Watch& watch, std::int64_t* counts) {
    Weights weights(pairs.topics, end - begin);
    Sums sums;
    if (!sum_systems(pairs, all ? Draw::all_signs : Draw::signs, seed, begin, threads, watch, weights, sums)) return false;
    const std::size_t in_piece = 256;
    return parallel_for((pairs.size + in_piece - 1) / in_piece, threads, watch, [&](std::size_t piece, unsigned) {
        const std::size_t last = std::min(pairs.size, (piece + 1) * in_piece);
        for (std::size_t p = piece * in_piece; p < last; ++p)
            counts[p] = count_reaching(sums.of(pairs.first[p]), sums.of(pairs.second[p]), weights.resamples, limits[p], two_sided);
    });
}

// The squared differences of a group of pairs, topic by topic. Rounding errors of the subtraction count as no difference:
// otherwise constant differences would seem to vary.
inline void squared_differences(const Pairs& pairs, const double* largest, std::size_t begin, double* rows) {
    for (std::size_t g = 0; g < kGroup; ++g) {
        if (begin + g >= pairs.size) {
            for (std::size_t t = 0; t < pairs.topics; ++t) rows[t * kGroup + g] = 0.0;
            continue;
        }
        const auto i = static_cast<std::size_t>(pairs.first[begin + g]), j = static_cast<std::size_t>(pairs.second[begin + g]);
        const double noise = 0x1p-45 * (largest[i] + largest[j]);  // as in differences.py
        for (std::size_t t = 0; t < pairs.topics; ++t) {
            const double w = pairs.scores[i * pairs.topics + t] - pairs.scores[j * pairs.topics + t];
            rows[t * kGroup + g] = std::fabs(w) <= noise ? 0.0 : w * w;
        }
    }
}

// Turns S2 = squares, with S1 = u - v, into the ratios described at bootstrap_ratios, in place.
CRANFIELD_WIDE inline void studentise(const double* __restrict u, const double* __restrict v, std::size_t resamples, double n,
                                      double* __restrict squares) {
    for (std::size_t r = 0; r < resamples; ++r) {
        const double sum = u[r] - v[r];
        const double ratio = sum * std::fabs(sum) / (n * squares[r]);
        squares[r] = squares[r] > 0 ? ratio : 0.0;
    }
}

CRANFIELD_WIDE inline std::int64_t count_ratios(const double* ratios, std::size_t n, double limit, bool two_sided) {
    std::int64_t count = 0;
    if (two_sided)
        for (std::size_t r = 0; r < n; ++r) count += std::fabs(ratios[r]) >= limit;
    else
        for (std::size_t r = 0; r < n; ++r) count += ratios[r] >= limit;
    return count;
}

// Calls use(p, ratios, u, v, resamples) for each pair, in any order and from any thread; S1 = u - v. The ratio of a resample is
// S1 |S1| / (n S2), S1 the sum and S2 the sum of squares of the n drawn differences: it is between -1 and 1, grows with
// Student's t = S1 / sqrt((n S2 - S1^2) / (n - 1)), and does not suffer from cancellation. It is 0 if all differences are.
// `pairs.scores` must be centred, system by system; `largest` are the largest |scores| before that.
template <typename Use>
bool bootstrap_ratios(const Pairs& pairs, const double* largest, std::uint64_t seed, std::uint64_t begin, std::uint64_t end,
                      unsigned threads, const Watch& watch, const Use& use) {
    Weights weights(pairs.topics, end - begin);
    Sums sums;
    if (!sum_systems(pairs, Draw::topics, seed, begin, threads, watch, weights, sums)) return false;
    const std::size_t groups = (pairs.size + kGroup - 1) / kGroup;
    return parallel_for(groups, threads, watch, [&](std::size_t group, unsigned) {
        std::vector<double> rows(kGroup * pairs.topics);
        std::vector<double> squares(kGroup * sums.padded);
        std::array<Lanes, kGroup> out;
        squared_differences(pairs, largest, group * kGroup, rows.data());
        for (std::size_t tile = 0; tile < weights.tiles(); ++tile) {
            weighted_sums(weights.tile(tile), rows.data(), pairs.topics, out.data());
            for (std::size_t g = 0; g < kGroup; ++g)
                place(out[g], squares.data() + g * sums.padded + tile * kTile);
        }
        const auto n = static_cast<double>(pairs.topics);
        for (std::size_t g = 0; g < kGroup && group * kGroup + g < pairs.size; ++g) {
            const std::size_t p = group * kGroup + g;
            const double *u = sums.of(pairs.first[p]), *v = sums.of(pairs.second[p]);
            double* ratios = squares.data() + g * sums.padded;
            studentise(u, v, weights.resamples, n, ratios);
            use(p, ratios, u, v, weights.resamples);
        }
    });
}

// The largest values of a stream. There is room for twice as many as wanted; when it is full, the lowest are dropped.
struct Largest {
    double* kept;
    std::int64_t* size;
    double* floor;  // values at or below it are not among the largest
    std::size_t wanted;

    void add(const double* values, std::size_t n, bool absolute) {
        auto count = static_cast<std::size_t>(*size);
        double above = *floor;
        for (std::size_t r = 0; r < n; ++r) {
            const double value = absolute ? std::fabs(values[r]) : values[r];
            kept[count] = value;
            count += value > above;
            if (count == 2 * wanted) count = shrink(above);
        }
        *size = static_cast<std::int64_t>(count);
        *floor = above;
    }

    // The smallest of the wanted largest values, moved after the larger ones; the floor if there are fewer.
    double last(std::size_t count) {
        if (count < wanted) return *floor;
        std::nth_element(kept, kept + (wanted - 1), kept + count, std::greater<>());
        return kept[wanted - 1];
    }

private:
    // Keeps between one and 1.75 times as many as wanted. Usually a limit guessed from a sample does it, without the branches
    // of a full selection; a bad guess is noticed.
    std::size_t shrink(double& above) {
        constexpr std::size_t kProbe = 31, kPlace = 18;
        const std::size_t full = 2 * wanted;
        if (full > 4 * kProbe) {
            std::array<double, kProbe> probe;
            for (std::size_t i = 0; i < kProbe; ++i) probe[i] = kept[i * full / kProbe];
            std::nth_element(probe.begin(), probe.begin() + kPlace, probe.end(), std::greater<>());
            const double guess = probe[kPlace];
            std::size_t reach = 0;
            for (std::size_t i = 0; i < full; ++i) reach += kept[i] >= guess;
            if (reach >= wanted && reach <= wanted + wanted * 3 / 4) {
                std::size_t count = 0;
                for (std::size_t i = 0; i < full; ++i) {
                    const double value = kept[i];
                    kept[count] = value;
                    count += value >= guess;
                }
                above = guess;
                return count;
            }
        }
        above = last(full);
        return wanted;
    }
};

// |u - v| of the resample with the wanted-th largest |ratio| (1: the largest); of equal ratios the larger sum comes first.
inline double sum_at(const double* ratios, const double* u, const double* v, std::size_t n, std::size_t wanted) {
    std::vector<std::uint32_t> order(n);
    for (std::size_t r = 0; r < n; ++r) order[r] = static_cast<std::uint32_t>(r);
    const auto place = order.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
    std::nth_element(order.begin(), place, order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const double x = std::fabs(ratios[a]), y = std::fabs(ratios[b]);
        return x != y ? x > y : std::fabs(u[a] - v[a]) > std::fabs(u[b] - v[b]);
    });
    return std::fabs(u[*place] - v[*place]);
}

inline void shuffle(Random& random, double* values, std::size_t n) {
    for (std::size_t left = n; left > 1; --left) std::swap(values[left - 1], values[random.below(static_cast<std::uint32_t>(left))]);
}

// ranges[b - begin]: the largest minus the smallest mean of a system, after each topic's scores are permuted among the systems.
// `scores` goes topic by topic.
inline bool permuted_ranges(const double* scores, std::size_t topics, std::size_t systems, std::uint64_t seed, std::uint64_t begin,
                            std::uint64_t end, unsigned threads, const Watch& watch, double* ranges) {
    return parallel_for(end - begin, threads, watch, [&](std::size_t at, unsigned) {
        Random random(seed, begin + at);
        std::vector<double> row(systems), sums(systems, 0.0);
        for (std::size_t t = 0; t < topics; ++t) {
            std::copy_n(scores + t * systems, systems, row.begin());
            shuffle(random, row.data(), systems);
            for (std::size_t s = 0; s < systems; ++s) sums[s] += row[s];
        }
        const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
        ranges[at] = (*high - *low) / static_cast<double>(topics);
    });
}

enum class Summary { mean, gmean, median };

// Changes the order of the values. For gmean the values are logarithms.
inline double summary_of(Summary summary, double* values, std::size_t n) {
    if (summary == Summary::median) {
        double* middle = values + n / 2;
        std::nth_element(values, middle, values + n);
        return n % 2 ? *middle : (*std::max_element(values, middle) + *middle) / 2;
    }
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i];
    const double mean = sum / static_cast<double>(n);
    return summary == Summary::gmean ? std::exp(mean) : mean;
}

// Where the two new samples come from: both drawn with replacement from all values (pool), each drawn from its own sample
// (own), or all values divided at random (deal).
enum class From { pool, own, deal };

// differences[b - begin] = M(x*) - M(y*); `values` are the entries of x and then of y.
inline bool two_sample_differences(const double* values, std::size_t in_x, std::size_t n, From from, Summary summary, std::uint64_t seed,
                                   std::uint64_t begin, std::uint64_t end, unsigned threads, const Watch& watch, double* differences) {
    const std::size_t in_piece = 64;
    const std::size_t count = end - begin;
    return parallel_for((count + in_piece - 1) / in_piece, threads, watch, [&](std::size_t piece, unsigned) {
        std::vector<double> drawn(n);
        for (std::size_t at = piece * in_piece; at < std::min(count, (piece + 1) * in_piece); ++at) {
            Random random(seed, begin + at);
            if (from == From::deal) {
                std::copy_n(values, n, drawn.begin());
                shuffle(random, drawn.data(), n);
            } else if (from == From::pool) {
                for (double& value : drawn) value = values[random.below(static_cast<std::uint32_t>(n))];
            } else {
                for (std::size_t i = 0; i < n; ++i)
                    drawn[i] = i < in_x ? values[random.below(static_cast<std::uint32_t>(in_x))]
                                        : values[in_x + random.below(static_cast<std::uint32_t>(n - in_x))];
            }
            differences[at] = summary_of(summary, drawn.data(), in_x) - summary_of(summary, drawn.data() + in_x, n - in_x);
        }
    });
}

}  // namespace cranfield
