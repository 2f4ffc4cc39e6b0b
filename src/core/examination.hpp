// The expectation step of click models in which a click is examination times attractiveness.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace cranfield {

struct ExaminationStep {
    std::vector<double> success;    // for every parameter, the expected successes without a click
    double log_likelihood = 0;      // of the impressions without a click
};

// A cell is a document (pair) at a place with a number of impressions without a click. theta holds the attractiveness of all pairs,
// then the examination of all places.
inline ExaminationStep examination_step(std::span<const std::int32_t> pair, std::span<const std::int32_t> place,
                                        std::span<const double> skipped, std::span<const double> theta, std::size_t pairs) {
    if (pair.size() != skipped.size() || place.size() != skipped.size()) throw std::invalid_argument("columns of different lengths");
    if (pairs > theta.size()) throw std::invalid_argument("more pairs than parameters");
    ExaminationStep step;
    step.success.resize(theta.size());
    const std::size_t places = theta.size() - pairs;
    for (std::size_t i = 0; i < skipped.size(); ++i) {
        const auto p = static_cast<std::size_t>(pair[i]), r = static_cast<std::size_t>(place[i]);
        if (p >= pairs || r >= places) throw std::invalid_argument("a cell without a parameter");
        if (!(skipped[i] > 0)) continue;
        const double attractive = theta[p], examined = theta[pairs + r], click = attractive * examined;
        const double weight = skipped[i] / (1 - click);
        step.success[p] += weight * (attractive - click);
        step.success[pairs + r] += weight * (examined - click);
        step.log_likelihood += skipped[i] * std::log(1 - click);
    }
    return step;
}

}  // namespace cranfield
