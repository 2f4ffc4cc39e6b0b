// Resampling tests. Python asks for a range [begin, end) of resamples, or for some pairs, at a time.
#include <string>
#include <tuple>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "resample.hpp"

namespace cranfield {
namespace {

using Doubles = Column<double>;
using Numbers = Column<std::int64_t>;
using Grid = nb::ndarray<nb::numpy, const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Arrays that the call changes.
template <typename T, int dimensions>
using Changed = nb::ndarray<nb::numpy, T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;

void check_resamples(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) throw nb::value_error("no resamples: begin must be below end");
}

Pairs make_pairs(const Grid& scores, const Numbers& first, const Numbers& second, std::size_t per_pair) {
    const Pairs pairs{scores.data(), scores.shape(0), scores.shape(1), first.data(), second.data(), first.shape(0)};
    if (second.shape(0) != pairs.size || per_pair != pairs.size) throw nb::value_error("all columns need one entry per pair");
    if (pairs.topics == 0 || pairs.topics > 1u << 31) throw nb::value_error("the number of topics must be between 1 and 2^31");
    const auto systems = static_cast<std::int64_t>(pairs.systems);
    for (std::size_t p = 0; p < pairs.size; ++p)
        if (pairs.first[p] < 0 || pairs.first[p] >= systems || pairs.second[p] < 0 || pairs.second[p] >= systems)
            throw nb::value_error("a pair names a system that does not exist");
    return pairs;
}

// Runs work(watch) without the GIL; raises the exception that stopped it (Ctrl-C).
template <typename Work>
void unlocked(const Work& work) {
    const Watch watch = make_watch();
    bool finished = false;
    {
        const Unlocked without_gil;
        finished = work(watch);
    }
    if (!finished) throw nb::python_error();
}

Vector1<std::int64_t> py_flip_counts(Grid scores, Numbers first, Numbers second, Doubles limits, bool two_sided, bool all,
                                     std::uint64_t seed, std::uint64_t begin, std::uint64_t end, unsigned threads) {
    check_resamples(begin, end);
    const Pairs pairs = make_pairs(scores, first, second, limits.shape(0));
    if (all && pairs.topics > 62) throw nb::value_error("all signs can be enumerated for at most 62 topics");
    std::vector<std::int64_t> counts(pairs.size, 0);
    unlocked([&](const Watch& watch) {
        return count_flips(pairs, limits.data(), two_sided, all, seed, begin, end, threads, watch, counts.data());
    });
    return to_numpy(std::move(counts));
}

// Also collects the largest ratios of each pair from call to call: a row of `kept` has room for twice as many as are wanted
// (0: none), `sizes` says how many it holds, and only ratios above `floors` can still be among the largest.
Vector1<std::int64_t> py_bootstrap_counts(Grid centred, Doubles largest, Numbers first, Numbers second, Doubles limits, bool two_sided,
                                          std::uint64_t seed, std::uint64_t begin, std::uint64_t end, unsigned threads,
                                          Changed<double, 2> kept,
                                          Changed<std::int64_t, 1> sizes,
                                          Changed<double, 1> floors) {
    check_resamples(begin, end);
    const Pairs pairs = make_pairs(centred, first, second, limits.shape(0));
    if (largest.shape(0) != pairs.systems) throw nb::value_error("largest needs one entry per system");
    const std::size_t wanted = kept.shape(1) / 2;
    if (kept.shape(0) != pairs.size || sizes.shape(0) != pairs.size || floors.shape(0) != pairs.size)
        throw nb::value_error("all columns need one entry per pair");
    for (std::size_t p = 0; wanted && p < pairs.size; ++p)
        if (sizes.data()[p] < 0 || sizes.data()[p] >= static_cast<std::int64_t>(2 * wanted)) throw nb::value_error("a size does not fit its row");
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

std::tuple<Vector1<std::int64_t>, Vector1<double>> py_bootstrap_borderline(Grid centred, Doubles largest, Numbers first, Numbers second, Doubles limits, std::size_t wanted,
                                  std::uint64_t seed, std::uint64_t resamples, unsigned threads) {
    check_resamples(0, resamples);
    const Pairs pairs = make_pairs(centred, first, second, limits.shape(0));
    if (largest.shape(0) != pairs.systems) throw nb::value_error("largest needs one entry per system");
    if (wanted < 1 || wanted > resamples) throw nb::value_error("wanted must be between 1 and the number of resamples");
    std::vector<std::int64_t> counts(pairs.size, 0);
    std::vector<double> means(pairs.size, 0.0);
    unlocked([&](const Watch& watch) {
        return bootstrap_ratios(pairs, largest.data(), seed, 0, resamples, threads, watch,
                                [&](std::size_t p, const double* ratios, const double* u, const double* v, std::size_t n) {
                                    counts[p] = count_ratios(ratios, n, limits.data()[p], true);
                                    means[p] = sum_at(ratios, u, v, n, wanted) / static_cast<double>(pairs.topics);
                                });
    });
    return {to_numpy(std::move(counts)), to_numpy(std::move(means))};
}

Vector1<double> py_last_of_largest(Changed<double, 2> kept,
                                   Changed<std::int64_t, 1> sizes,
                                   Changed<double, 1> floors) {
    const std::size_t rows = kept.shape(0), wanted = kept.shape(1) / 2;
    if (sizes.shape(0) != rows || floors.shape(0) != rows || wanted == 0) throw nb::value_error("all columns need one entry per pair");
    std::vector<double> last(rows);
    for (std::size_t p = 0; p < rows; ++p) {
        const std::int64_t size = sizes.data()[p];
        if (size < 0 || size > static_cast<std::int64_t>(kept.shape(1))) throw nb::value_error("a size does not fit its row");
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
    if (in_x < 1 || in_x >= values.shape(0)) throw nb::value_error("each sample needs at least one value");
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

void bind_resampling(nb::module_& m) {
    m.def("flip_counts", &py_flip_counts, "scores"_a, "first"_a, "second"_a, "limits"_a, "two_sided"_a, "all"_a, "seed"_a, "begin"_a,
          "end"_a, "threads"_a,
          "For each pair of systems, count the sign vectors whose sum of differences reaches its limit.\n\n"
          "`all` enumerates every sign vector instead of drawing them.");
    m.def("bootstrap_counts", &py_bootstrap_counts, "centred"_a, "largest"_a, "first"_a, "second"_a, "limits"_a, "two_sided"_a,
          "seed"_a, "begin"_a, "end"_a, "threads"_a, "kept"_a, "sizes"_a, "floors"_a,
          "For each pair, count the bootstrap ratios that reach its limit, and collect the largest ratios in `kept`.");
    m.def("bootstrap_borderline", &py_bootstrap_borderline, "centred"_a, "largest"_a, "first"_a, "second"_a, "limits"_a, "wanted"_a,
          "seed"_a, "resamples"_a, "threads"_a,
          "For each pair, count the |ratios| that reach its limit, and return the |mean difference| of the resample with\n"
          "the `wanted`-th largest |ratio|.");
    m.def("last_of_largest", &py_last_of_largest, "kept"_a, "sizes"_a, "floors"_a,
          "For each pair, the smallest of the wanted largest ratios; minus infinity if there are fewer.");
    m.def("permuted_ranges", &py_permuted_ranges, "scores"_a, "seed"_a, "begin"_a, "end"_a, "threads"_a,
          "For each permutation, the largest minus the smallest mean of a system.");
    m.def("two_sample_differences", &py_two_sample_differences, "values"_a, "in_x"_a, "from_"_a, "summary"_a, "seed"_a, "begin"_a,
          "end"_a, "threads"_a, "For each resample, the summary of the first `in_x` values minus that of the others.");
}

}  // namespace cranfield
