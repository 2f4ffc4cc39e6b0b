// The resampling tests as Python calls them, some resamples [begin, end) or some pairs at a time.
#pragma once

#include <string>

#include "bindings/convert.hpp"
#include "resample.hpp"

namespace cranfield {
namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Grid = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void check_resamples(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) throw nb::value_error("no resamples: begin must be below end");
}

Pairs make_pairs(const Grid& scores, const Numbers& first, const Numbers& second, std::size_t per_pair) {
    const Pairs pairs{scores.data(), scores.shape(0), scores.shape(1), first.data(), second.data(), first.shape(0)};
    if (second.shape(0) != pairs.size || per_pair != pairs.size) throw nb::value_error("one entry a pair is needed everywhere");
    if (pairs.topics == 0 || pairs.topics > 1u << 31) throw nb::value_error("between 1 and 2^31 topics are needed");
    const auto systems = static_cast<std::int64_t>(pairs.systems);
    for (std::size_t p = 0; p < pairs.size; ++p)
        if (pairs.first[p] < 0 || pairs.first[p] >= systems || pairs.second[p] < 0 || pairs.second[p] >= systems)
            throw nb::value_error("a pair names a system that is not there");
    return pairs;
}

// Runs work(watch) without the GIL; what stopped it (Ctrl-C) goes on its way.
template <typename Work>
void unlocked(const Work& work) {
    const Watch watch = make_watch(nb::none(), 0);
    bool finished = false;
    {
        const nb::gil_scoped_release release;
        finished = work(watch);
    }
    if (!finished) throw nb::python_error();
}

Vector1<std::int64_t> py_flip_counts(Grid scores, Numbers first, Numbers second, Doubles limits, bool two_sided, bool all,
                                     std::uint64_t seed, std::uint64_t begin, std::uint64_t end, unsigned threads) {
    check_resamples(begin, end);
    const Pairs pairs = make_pairs(scores, first, second, limits.shape(0));
    if (all && pairs.topics > 62) throw nb::value_error("all signs of at most 62 topics can be counted");
    std::vector<std::int64_t> counts(pairs.size, 0);
    unlocked([&](const Watch& watch) {
        return count_flips(pairs, limits.data(), two_sided, all, seed, begin, end, threads, watch, counts.data());
    });
    return to_numpy(std::move(counts));
}

// For each pair, how many resampled ratios reach its limit. If rows of `kept` are as long as twice the number wanted of the
// largest ratios (0: none are), these are gathered there from call to call, `sizes` of them, `floors` the least of use.
Vector1<std::int64_t> py_bootstrap_counts(Grid centred, Doubles largest, Numbers first, Numbers second, Doubles limits, bool two_sided,
                                          std::uint64_t seed, std::uint64_t begin, std::uint64_t end, unsigned threads,
                                          nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> kept,
                                          nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> sizes,
                                          nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> floors) {
    check_resamples(begin, end);
    const Pairs pairs = make_pairs(centred, first, second, limits.shape(0));
    if (largest.shape(0) != pairs.systems) throw nb::value_error("one largest score a system is needed");
    const std::size_t wanted = kept.shape(1) / 2;
    if (kept.shape(0) != pairs.size || sizes.shape(0) != pairs.size || floors.shape(0) != pairs.size)
        throw nb::value_error("one entry a pair is needed everywhere");
    for (std::size_t p = 0; wanted && p < pairs.size; ++p)
        if (sizes.data()[p] < 0 || sizes.data()[p] >= static_cast<std::int64_t>(2 * wanted)) throw nb::value_error("a size is not in its row");
    std::vector<std::int64_t> counts(pairs.size, 0);
    unlocked([&](const Watch& watch) {
        return bootstrap_ratios(pairs, largest.data(), seed, begin, end, threads, watch,
                                [&](std::size_t p, const double* ratios, const double*, const double*, std::size_t n) {
                                    counts[p] = count_ratios(ratios, n, limits.data()[p], two_sided);
                                    if (wanted)
                                        Largest{kept.data() + p * kept.shape(1), sizes.data() + p, floors.data() + p, wanted}
                                            .add(ratios, n, two_sided);
                                });
    });
    return to_numpy(std::move(counts));
}

// For each pair, how many of all resampled |ratios| reach its limit; and the |mean| of the resample with the wanted-th largest.
nb::tuple py_bootstrap_borderline(Grid centred, Doubles largest, Numbers first, Numbers second, Doubles limits, std::size_t wanted,
                                  std::uint64_t seed, std::uint64_t resamples, unsigned threads) {
    check_resamples(0, resamples);
    const Pairs pairs = make_pairs(centred, first, second, limits.shape(0));
    if (largest.shape(0) != pairs.systems) throw nb::value_error("one largest score a system is needed");
    if (wanted < 1 || wanted > resamples) throw nb::value_error("the number wanted must be between 1 and the number of resamples");
    std::vector<std::int64_t> counts(pairs.size, 0);
    std::vector<double> means(pairs.size, 0.0);
    unlocked([&](const Watch& watch) {
        return bootstrap_ratios(pairs, largest.data(), seed, 0, resamples, threads, watch,
                                [&](std::size_t p, const double* ratios, const double* u, const double* v, std::size_t n) {
                                    counts[p] = count_ratios(ratios, n, limits.data()[p], true);
                                    means[p] = sum_at(ratios, u, v, n, wanted) / static_cast<double>(pairs.topics);
                                });
    });
    return nb::make_tuple(to_numpy(std::move(counts)), to_numpy(std::move(means)));
}

// For each row of what was gathered, the last of the number wanted; minus infinity if there are not so many.
Vector1<double> py_last_of_largest(nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> kept,
                                   nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> sizes,
                                   nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> floors) {
    const std::size_t rows = kept.shape(0), wanted = kept.shape(1) / 2;
    if (sizes.shape(0) != rows || floors.shape(0) != rows || wanted == 0) throw nb::value_error("one entry a pair is needed everywhere");
    std::vector<double> last(rows);
    for (std::size_t p = 0; p < rows; ++p) {
        const std::int64_t size = sizes.data()[p];
        if (size < 0 || size > static_cast<std::int64_t>(kept.shape(1))) throw nb::value_error("a size is not in its row");
        last[p] = Largest{kept.data() + p * kept.shape(1), sizes.data() + p, floors.data() + p, wanted}.last(static_cast<std::size_t>(size));
    }
    return to_numpy(std::move(last));
}

Vector1<double> py_permuted_ranges(Grid scores, std::uint64_t seed, std::uint64_t begin, std::uint64_t end, unsigned threads) {
    check_resamples(begin, end);
    if (scores.shape(0) == 0 || scores.shape(1) == 0) throw nb::value_error("no scores");
    std::vector<double> ranges(end - begin);
    unlocked([&](const Watch& watch) {
        return permuted_ranges(scores.data(), scores.shape(0), scores.shape(1), seed, begin, end, threads, watch, ranges.data());
    });
    return to_numpy(std::move(ranges));
}

Vector1<double> py_two_sample_differences(Doubles values, std::size_t in_x, const std::string& from, const std::string& summary,
                                          std::uint64_t seed, std::uint64_t begin, std::uint64_t end, unsigned threads) {
    check_resamples(begin, end);
    if (in_x < 1 || in_x >= values.shape(0)) throw nb::value_error("each sample needs an entry");
    if (from != "pool" && from != "own" && from != "deal") throw nb::value_error("from must be 'pool', 'own' or 'deal'");
    if (summary != "mean" && summary != "gmean" && summary != "median")
        throw nb::value_error("summary must be 'mean', 'gmean' or 'median'");
    const From source = from == "pool" ? From::pool : from == "own" ? From::own : From::deal;
    const Summary of = summary == "mean" ? Summary::mean : summary == "gmean" ? Summary::gmean : Summary::median;
    std::vector<double> differences(end - begin);
    unlocked([&](const Watch& watch) {
        return two_sample_differences(values.data(), in_x, values.shape(0), source, of, seed, begin, end, threads, watch,
                                      differences.data());
    });
    return to_numpy(std::move(differences));
}

}  // namespace
}  // namespace cranfield
