// Sums of columns and of their products for each group of rows: all that the moments of an experiment need.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <variant>
#include <vector>

#include "parallel.hpp"

namespace cranfield {

// A column of floats or of whole numbers.
using Numbers = std::variant<std::span<const double>, std::span<const std::int64_t>>;

struct GroupSums {
    std::vector<double> sums;      // groups × columns
    std::vector<double> products;  // groups × pairs
};

inline constexpr std::size_t kSumLanes = 8;

template <typename Term>
double laned_sum(std::size_t n, const Term& term) {
    std::array<double, kSumLanes> lanes{};
    std::size_t i = 0;
    for (; i + kSumLanes <= n; i += kSumLanes)
        for (std::size_t lane = 0; lane < kSumLanes; ++lane) lanes[lane] += term(i + lane);
    double total = 0;
    for (const double lane : lanes) total += lane;
    for (; i < n; ++i) total += term(i);
    return total;
}

// For each group: the sums of (column - shift), and of the products of pairs of shifted columns (first[p], second[p]).
// Rows are taken in pieces of a fixed size, whose sums are added up in order, so the result does not depend on threads.
inline GroupSums group_sums(std::span<const std::int32_t> group, std::size_t groups, const std::vector<Numbers>& columns,
                            std::span<const double> shift, std::span<const std::int32_t> first,
                            std::span<const std::int32_t> second, unsigned threads) {
    constexpr std::size_t block = 2048, piece_rows = 16 * block;
    const std::size_t rows = group.size(), width = columns.size(), pairs = first.size();
    if (shift.size() != width || second.size() != pairs) throw std::invalid_argument("group_sums: arrays of different lengths");
    for (const Numbers& column : columns)
        if (std::visit([](const auto& values) { return values.size(); }, column) != rows)
            throw std::invalid_argument("group_sums: a column has another length than the groups");
    for (std::size_t p = 0; p < pairs; ++p)
        if (first[p] < 0 || second[p] < 0 || std::max<std::size_t>(first[p], second[p]) >= width)
            throw std::invalid_argument("group_sums: a pair names a column that is not there");
    for (const std::int32_t one : group)
        if (one < 0 || static_cast<std::size_t>(one) >= groups) throw std::invalid_argument("group_sums: a group out of range");

    const std::size_t pieces = (rows + piece_rows - 1) / piece_rows, size = groups * (width + pairs);
    std::vector<double> parts(pieces * size, 0.0);
    parallel_for(pieces, threads, {}, [&](std::size_t piece, unsigned) {
        double* const out = parts.data() + piece * size;
        std::vector<double> values(width * block);
        std::vector<std::uint32_t> place(block);
        std::vector<std::size_t> begin(groups + 1), next(groups);
        const std::size_t end = std::min(rows, (piece + 1) * piece_rows);
        for (std::size_t from = piece * piece_rows; from < end; from += block) {
            const std::size_t n = std::min(block, end - from);
            const std::int32_t* const own = group.data() + from;
            std::fill(begin.begin(), begin.end(), 0);
            for (std::size_t i = 0; i < n; ++i) ++begin[static_cast<std::size_t>(own[i]) + 1];
            for (std::size_t g = 0; g < groups; ++g) begin[g + 1] += begin[g];
            std::copy(begin.begin(), begin.end() - 1, next.begin());
            for (std::size_t i = 0; i < n; ++i) place[i] = static_cast<std::uint32_t>(next[static_cast<std::size_t>(own[i])]++);
            for (std::size_t c = 0; c < width; ++c) {
                double* const to = values.data() + c * block;
                const double centre = shift[c];
                std::visit(
                    [&](const auto& column) {
                        const auto* const source = column.data() + from;
                        for (std::size_t i = 0; i < n; ++i) to[place[i]] = static_cast<double>(source[i]) - centre;
                    },
                    columns[c]);
            }
            for (std::size_t g = 0; g < groups; ++g) {
                const std::size_t many = begin[g + 1] - begin[g];
                if (many == 0) continue;
                double* const sums = out + g * (width + pairs);
                const auto at = [&](std::size_t c) { return values.data() + c * block + begin[g]; };
                for (std::size_t c = 0; c < width; ++c) {
                    const double* const x = at(c);
                    sums[c] += laned_sum(many, [x](std::size_t i) { return x[i]; });
                }
                for (std::size_t p = 0; p < pairs; ++p) {
                    const double* const x = at(static_cast<std::size_t>(first[p]));
                    const double* const y = at(static_cast<std::size_t>(second[p]));
                    sums[width + p] += laned_sum(many, [x, y](std::size_t i) { return x[i] * y[i]; });
                }
            }
        }
    });
    GroupSums result{std::vector<double>(groups * width, 0.0), std::vector<double>(groups * pairs, 0.0)};
    for (std::size_t piece = 0; piece < pieces; ++piece)
        for (std::size_t g = 0; g < groups; ++g) {
            const double* const part = parts.data() + piece * size + g * (width + pairs);
            for (std::size_t c = 0; c < width; ++c) result.sums[g * width + c] += part[c];
            for (std::size_t p = 0; p < pairs; ++p) result.products[g * pairs + p] += part[width + p];
        }
    return result;
}

}  // namespace cranfield
