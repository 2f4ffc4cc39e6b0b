// The expectation step of click models in which a click is examination times attractiveness.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "parallel.hpp"

namespace cranfield {

struct ExaminationStep {
    std::vector<double> success;    // for every parameter, the expected successes without a click
    double log_likelihood = 0;      // of the impressions without a click
};

constexpr std::size_t cells_of_piece = 50'000;

// Where pieces of work begin and end. A piece has whole pairs, so cells in the order of their pairs give pieces that share no pair;
// cells in another order are one piece. The pieces do not depend on the number of threads.
inline std::vector<std::size_t> examination_pieces(std::span<const std::int32_t> pair) {
    std::vector<std::size_t> ends{0};
    if (std::is_sorted(pair.begin(), pair.end())) {
        for (std::size_t end = cells_of_piece; end < pair.size(); end += cells_of_piece) {
            while (end < pair.size() && pair[end] == pair[end - 1]) ++end;
            if (end < pair.size()) ends.push_back(end);
        }
    }
    ends.push_back(pair.size());
    return ends;
}

// A cell is a document (pair) at a place with a number of impressions without a click. theta holds the attractiveness of all pairs,
// then the examination of all places.
inline ExaminationStep examination_step(std::span<const std::int32_t> pair, std::span<const std::int32_t> place,
                                        std::span<const double> skipped, std::span<const double> theta, std::size_t pairs,
                                        unsigned threads) {
    if (pair.size() != skipped.size() || place.size() != skipped.size()) throw std::invalid_argument("columns of different lengths");
    if (pairs > theta.size()) throw std::invalid_argument("more pairs than parameters");
    ExaminationStep step;
    step.success.resize(theta.size());
    const std::size_t places = theta.size() - pairs;
    const auto ends = examination_pieces(pair);
    const std::size_t pieces = ends.size() - 1;
    std::vector<double> likelihoods(pieces);
    std::vector<std::vector<double>> examined_in(pieces);
    parallel_for(pieces, threads, nullptr, [&](std::size_t piece, unsigned) {
        std::vector<double> of_place(places);
        double likelihood = 0, product = 1;    // the logarithm of a product of many cells costs less than one for each
        for (std::size_t i = ends[piece]; i < ends[piece + 1]; ++i) {
            const auto p = static_cast<std::size_t>(pair[i]), r = static_cast<std::size_t>(place[i]);
            if (p >= pairs || r >= places) throw std::invalid_argument("a cell without a parameter");
            if (!(skipped[i] > 0)) continue;
            const double attractive = theta[p], examined = theta[pairs + r], click = attractive * examined;
            const double weight = skipped[i] / (1 - click);
            step.success[p] += weight * (attractive - click);
            of_place[r] += weight * (examined - click);
            if (skipped[i] == 1) {
                product *= 1 - click;
                if (product < 1e-200) {
                    likelihood += std::log(product);
                    product = 1;
                }
            } else {
                likelihood += skipped[i] * std::log(1 - click);
            }
        }
        likelihoods[piece] = likelihood + std::log(product);
        examined_in[piece] = std::move(of_place);
    });
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        step.log_likelihood += likelihoods[piece];
        for (std::size_t r = 0; r < places; ++r) step.success[pairs + r] += examined_in[piece][r];
    }
    return step;
}

// The sum of weight · log(value); a weight of 0 counts as 0 even if the value is 0.
inline double weighted_log(std::span<const double> weight, std::span<const double> values) {
    if (weight.size() != values.size()) throw std::invalid_argument("columns of different lengths");
    double total = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) {
        if (weight[i] > 0) total += weight[i] * std::log(values[i]);
    }
    return total;
}

}  // namespace cranfield
