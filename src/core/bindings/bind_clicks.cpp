// Click models.
#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "examination.hpp"

namespace cranfield {
namespace {

std::pair<Vector1<double>, double> step(const Column<std::int32_t>& pair, const Column<std::int32_t>& place, const Column<double>& skipped,
                                        const Column<double>& theta, std::size_t pairs, unsigned threads) {
    ExaminationStep result;
    {
        const Unlocked unlocked;
        result = examination_step(span_of(pair), span_of(place), span_of(skipped), span_of(theta), pairs, threads);
    }
    return {to_numpy(std::move(result.success)), result.log_likelihood};
}

double py_weighted_log(const Column<double>& weight, const Column<double>& values) {
    const Unlocked unlocked;
    return weighted_log(span_of(weight), span_of(values));
}

}  // namespace

void bind_clicks(nb::module_& m) {
    m.def("examination_step", &step, "pair"_a, "place"_a, "skipped"_a, "theta"_a, "pairs"_a, "threads"_a,
          "The expected successes of every parameter in impressions without a click, and the log-likelihood of those.");
    m.def("weighted_log", &py_weighted_log, "weight"_a, "values"_a, "The sum of weight * log(value); a weight of 0 counts as 0.");
}

}  // namespace cranfield
