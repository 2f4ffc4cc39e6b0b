// Click models.
#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "examination.hpp"

namespace cranfield {
namespace {

std::pair<Vector1<double>, double> step(const Column<std::int32_t>& pair, const Column<std::int32_t>& place, const Column<double>& skipped,
                                        const Column<double>& theta, std::size_t pairs) {
    ExaminationStep result;
    {
        const Unlocked unlocked;
        result = examination_step(span_of(pair), span_of(place), span_of(skipped), span_of(theta), pairs);
    }
    return {to_numpy(std::move(result.success)), result.log_likelihood};
}

}  // namespace

void bind_clicks(nb::module_& m) {
    m.def("examination_step", &step, "pair"_a, "place"_a, "skipped"_a, "theta"_a, "pairs"_a,
          "The expected successes of every parameter in impressions without a click, and the log-likelihood of those.");
}

}  // namespace cranfield
