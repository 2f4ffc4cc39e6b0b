// The most random lists with given scores.
#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "max_entropy.hpp"

namespace cranfield {
namespace {

std::pair<Vector1<double>, Vector1<double>> py_max_entropy(const Column<std::int64_t>& list_start, const Column<double>& target,
                                                           const Column<double>& found, const Column<std::int64_t>& length,
                                                           const Column<double>& tables, const Column<std::int64_t>& used,
                                                           const Column<std::int32_t>& table_of, const Column<double>& scale,
                                                           const Column<double>& alpha, std::size_t ranks, std::size_t parts,
                                                           unsigned threads) {
    const EntropyProblem problem{span_of(list_start), span_of(target),   span_of(found), span_of(length), span_of(tables),
                                 span_of(used),       span_of(table_of), span_of(scale), span_of(alpha),  ranks,
                                 parts};
    EntropySolution solution;
    {
        const Unlocked unlocked;
        solution = max_entropy(problem, threads);
    }
    return {to_numpy(std::move(solution.probability)), to_numpy(std::move(solution.expected))};
}

}  // namespace

void bind_entropy(nb::module_& m) {
    m.def("max_entropy", &py_max_entropy, "list_start"_a, "target"_a, "found"_a, "length"_a, "tables"_a, "used"_a, "table_of"_a,
          "scale"_a, "alpha"_a, "ranks"_a, "parts"_a, "threads"_a,
          "The most random lists with given scores: probabilities of relevance (rows × ranks, flat), and expected scores.");
}

}  // namespace cranfield
