// The most random lists with given scores: how likely is the document at each rank to be relevant to each intent?
//
// Documents are relevant independently, with probability p at each rank. An expected score is a sum of parts; each part is a sum
// over rows (a row is a list, or an intent of a list) of
//     scale * sum over ranks of weight * p * f(relevant documents above),
// where E[f] is the product of (1 - alpha p) over the ranks above, or, if alpha is negative, 1 + the sum of p over them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "parallel.hpp"

namespace cranfield {

struct EntropyProblem {
    std::span<const std::int64_t> list_start;  // where the rows of each list begin, with their number at the end
    std::span<const double> target;            // of each list: its score
    std::span<const double> found;             // of each row: the expected number of relevant documents
    std::span<const std::int64_t> length;      // of each row: the number of its ranks
    std::span<const double> tables;            // tables × ranks: weights of ranks
    std::span<const std::int64_t> used;        // of each table: weights from here on are 0
    std::span<const std::int32_t> table_of;    // parts × rows
    std::span<const double> scale;             // parts × rows
    std::span<const double> alpha;             // parts × rows
    std::size_t ranks = 0;
    std::size_t parts = 0;
};

struct EntropySolution {
    std::vector<double> probability;  // rows × ranks
    std::vector<double> expected;     // of each list: the expected score of the solution
};

namespace entropy {

inline constexpr int kRounds = 60, kSteps = 60, kWarmSteps = 3;  // linearisations; Newton steps in the first and in later ones
inline constexpr double kClose = 1e-6;    // a list is solved when probabilities change by less, and so does its score
inline constexpr double kFar = 0.1;       // after the steps from the last solution, a list is on its way if its sums are this close
inline constexpr double kLongest = 4.0;   // the longest Newton step, in standard deviations of the weights
inline constexpr double kSteepest = 1e4;  // the steepest slope, in the same unit: it makes probabilities 0 or 1
inline constexpr double kExact = 1e-9;    // a score closer than this to an extreme is at the extreme, which needs no search
inline constexpr double kRidge = 1e-12;
inline constexpr double kTilt = 1e-3;  // ranks that a score cannot tell apart: the search begins with the upper ones a little higher
inline constexpr double kLargest = 40.0;

// One row: ranks with a weight have a column each, and the others share the last column.
struct Row {
    std::size_t row = 0, begin = 0, columns = 0;  // where its columns begin, and how many there are
    double rest = 0;                              // the number of ranks of the last column
    double found = 0, mean = 0, level = 0;        // of the weights; x = slope * (weight - mean) + level
    double error = 0, ab = 0, bb = 0, step = 0;   // gradient, Hessian and step of the level
};

class Solver {
public:
    explicit Solver(const EntropyProblem& problem) : problem_(problem) {}

    void solve(std::size_t list, double* out, double& expected) {
        target_ = problem_.target[list];
        prepare(list, out);
        if (!rows_.empty() && !settle(true) && !settle(false)) search();
        expected = problem_.target[list] - target_ + evaluate();
        for (const Row& row : rows_) write(row, out);
    }

private:
    // Rows without relevant documents, or with nothing else, are known: they are written and their scores taken from the target.
    void prepare(std::size_t list, double* out) {
        rows_.clear();
        curved_ = false;
        std::size_t begin = 0;
        const std::size_t first = problem_.list_start[list], last = problem_.list_start[list + 1];
        for (std::size_t number = first; number < last; ++number) {
            const std::size_t length = problem_.length[number];
            std::size_t used = 0;
            for (std::size_t part = 0; part < problem_.parts; ++part)
                used = std::max<std::size_t>(used, problem_.used[table_of(part, number)]);
            used = std::min(used, length);
            Row row;
            row.row = number, row.begin = begin, row.found = problem_.found[number];
            row.columns = used + (length > used ? 1 : 0);
            row.rest = length > used ? static_cast<double>(length - used) : 1.0;
            const double share = length ? row.found / static_cast<double>(length) : 0.0;
            reserve(begin + row.columns);
            if (share <= 0 || share >= 1) {
                std::fill_n(p_.begin() + begin, row.columns, share <= 0 ? 0.0 : 1.0);
                target_ -= evaluate(row);
                write(row, out);
                continue;
            }
            row.level = std::log(share / (1 - share));
            for (std::size_t i = 0; i < row.columns; ++i) p_[begin + i] = share;
            begin += row.columns;
            rows_.push_back(row);
            for (std::size_t part = 0; part < problem_.parts; ++part) curved_ |= alpha(part, number) != 0;
        }
        slope_ = 0;
        if (curved_)
            for (const Row& row : rows_)
                for (std::size_t i = 0; i < row.columns; ++i)
                    p_[row.begin + i] *= 1 + kTilt * (1 - 2 * (i + 0.5) / static_cast<double>(row.columns));
    }

    // The highest score has the relevant documents of each row at the top, the lowest at the bottom. Whether the target is this
    // score or beyond it; then p_ is that list. Weights must not grow with the rank.
    bool settle(bool top) {
        for (const Row& row : rows_)
            if (!pack(row, top)) return false;
        std::swap(p_, q_);
        const double extreme = evaluate(), distance = top ? target_ - extreme : extreme - target_;
        if (distance >= -kExact * std::max(1.0, std::abs(extreme))) return true;
        std::swap(p_, q_);
        return false;
    }

    bool pack(const Row& row, bool top) {
        bool linear = true, first_only = true;
        for (std::size_t part = 0; part < problem_.parts; ++part) {
            linear &= alpha(part, row.row) == 0;
            first_only &= alpha(part, row.row) == 1;
        }
        double* const q = q_.data() + row.begin;
        if (first_only && top && row.found >= 1) {  // where the other relevant documents are makes no difference
            const double others = static_cast<double>(problem_.length[row.row]) - 1;
            std::fill_n(q, row.columns, (row.found - 1) / others);
            q[0] = 1;
            if (row.columns == 1) return false;
            return falls(row);
        }
        if (!falls(row)) return false;
        double left = row.found;
        std::size_t border = 0;
        for (std::size_t i = 0; i < row.columns; ++i) {
            const std::size_t column = top ? i : row.columns - 1 - i;
            const double filled = std::min(left, count(row, column));
            q[column] = filled / count(row, column);
            if (left > 0) border = column;
            left -= filled;
        }
        if (!linear) return true;
        // ranks of equal weight share what there is
        const double close = kExact * std::max(1.0, std::abs(above_[border]));
        std::size_t begin = border, end = border + 1;
        while (begin > 0 && std::abs(above_[begin - 1] - above_[border]) <= close) --begin;
        while (end < row.columns && std::abs(above_[end] - above_[border]) <= close) ++end;
        double documents = 0, ranks = 0;
        for (std::size_t i = begin; i < end; ++i) documents += q[i] * count(row, i), ranks += count(row, i);
        std::fill(q + begin, q + end, documents / ranks);
        return true;
    }

    // Whether the weights of a row, which go to above_, never grow with the rank.
    bool falls(const Row& row) {
        std::fill_n(above_.begin(), row.columns, 0.0);
        for (std::size_t part = 0; part < problem_.parts; ++part) {
            const double* const weight = table(part, row.row);
            for (std::size_t i = 0; i < ranks_of(part, row); ++i) above_[i] += scale(part, row.row) * weight[i];
        }
        return std::is_sorted(above_.begin(), above_.begin() + row.columns, std::greater<>{});
    }

    void search() {
        double size = 1, moved_before = 2;
        for (int round = 0; round < kRounds; ++round) {
            std::fill(gradient_.begin(), gradient_.begin() + rows_.back().begin + rows_.back().columns, 0.0);
            const double score = evaluate_with_gradient();
            double linear = target_ - score;
            for (const Row& row : rows_)
                for (std::size_t i = 0; i < row.columns; ++i) linear += gradient_[row.begin + i] * p_[row.begin + i] * count(row, i);
            standardise(linear);
            if (round == 0 || newton(kWarmSteps) > kFar) {
                if (round) restart();
                newton(kSteps);
            }
            double moved = 0;
            for (const Row& row : rows_)
                for (std::size_t i = row.begin; i < row.begin + row.columns; ++i) moved = std::max(moved, std::abs(q_[i] - p_[i]));
            size = moved > 0.9 * moved_before ? std::max(size / 2, 1.0 / 64) : std::min(1.0, size * 1.5);
            moved_before = moved;
            for (const Row& row : rows_)
                for (std::size_t i = row.begin; i < row.begin + row.columns; ++i) p_[i] += size * (q_[i] - p_[i]);
            if (!curved_ || (moved < kClose && std::abs(score - target_) < kClose)) return;
        }
    }

    // Weights of mean 0 in each row and of standard deviation 1 over all; slope and levels stay those of the last solution.
    void standardise(double linear) {
        double total = 0, squares = 0, largest = 0;
        for (Row& row : rows_) {
            double sum = 0, ranks = 0;
            for (std::size_t i = 0; i < row.columns; ++i) {
                sum += gradient_[row.begin + i] * count(row, i);
                ranks += count(row, i);
                largest = std::max(largest, std::abs(gradient_[row.begin + i]));
            }
            const double mean = sum / ranks;
            row.level += slope_ / spread_ * (mean - row.mean);
            row.mean = mean;
            total += ranks;
            for (std::size_t i = 0; i < row.columns; ++i) {
                double& weight = gradient_[row.begin + i];
                weight -= mean;
                squares += weight * weight * count(row, i);
            }
            linear -= mean * row.found;
        }
        const double natural = slope_ / spread_;
        spread_ = std::sqrt(squares / total);
        flat_ = !(spread_ > 1e-12 * std::max(largest, 1e-300));
        if (flat_) spread_ = 1;
        for (const Row& row : rows_)
            for (std::size_t i = row.begin; i < row.begin + row.columns; ++i) z_[i] = flat_ ? 0.0 : gradient_[i] / spread_;
        wanted_ = flat_ ? 0.0 : linear / spread_;
        slope_ = flat_ ? 0.0 : std::clamp(natural * spread_, -kSteepest, kSteepest);
    }

    void restart() {
        slope_ = 0;
        for (Row& row : rows_) {
            const double share = row.found / static_cast<double>(problem_.length[row.row]);
            row.level = std::log(share / (1 - share));
        }
    }

    // Probabilities logistic(slope z + level), the gradient and the Hessian of the convex function that slope and levels minimise.
    void logistic() {
        to_slope_ = -wanted_, aa_ = kRidge;
        for (Row& row : rows_) {
            const double* const z = z_.data() + row.begin;
            double* const q = q_.data() + row.begin;
            for (std::size_t i = 0; i < row.columns; ++i) {
                const double x = std::clamp(slope_ * z[i] + row.level, -kLargest, kLargest);
                q[i] = 1 / (1 + std::exp(-x));
            }
            double sum = 0, slanted = 0, ab = 0, bb = 0, aa = 0;
            const std::size_t last = row.columns - 1;
            for (std::size_t i = 0; i < last; ++i) {
                const double steep = q[i] * (1 - q[i]);
                sum += q[i], slanted += q[i] * z[i];
                bb += steep, ab += steep * z[i], aa += steep * z[i] * z[i];
            }
            const double p = q[last] * row.rest, steep = p * (1 - q[last]);
            row.error = sum + p - row.found;
            to_slope_ += slanted + p * z[last];
            row.bb = bb + steep + kRidge, row.ab = ab + steep * z[last], aa_ += aa + steep * z[last] * z[last];
        }
    }

    double worst() const {
        double worst = flat_ ? 0.0 : std::abs(to_slope_);
        for (const Row& row : rows_) worst = std::max(worst, std::abs(row.error));
        return worst;
    }

    // Newton's method; the derivative along a step tells whether it went too far. Returns the largest error of a sum.
    double newton(int steps) {
        logistic();
        for (int step = 0; step < steps && worst() > 0.1 * kClose; ++step) {
            double schur = aa_, right = to_slope_;
            for (const Row& row : rows_) schur -= row.ab * row.ab / row.bb, right -= row.ab * row.error / row.bb;
            const double along_slope = flat_ ? 0.0 : -right / std::max(schur, kRidge);
            double longest = std::abs(along_slope);
            for (Row& row : rows_) {
                row.step = -(row.error + row.ab * along_slope) / row.bb;
                longest = std::max(longest, std::abs(row.step));
            }
            const double size = longest > kLongest ? kLongest / longest : 1.0;
            const double before = derivative(along_slope);
            move(along_slope, size);
            for (double at = size; ;) {
                logistic();
                const double here = derivative(along_slope);
                if (here <= 0.5 * std::abs(before) || at < 1e-4 * size) break;
                const double shorter = at * std::clamp(before / (before - here), 0.1, 0.9);  // the secant
                move(along_slope, shorter - at);
                at = shorter;
            }
            if (std::abs(slope_) > kSteepest) {
                slope_ = std::copysign(kSteepest, slope_);
                logistic();
                break;
            }
        }
        return worst();
    }

    double derivative(double along_slope) const {
        double total = to_slope_ * along_slope;
        for (const Row& row : rows_) total += row.error * row.step;
        return total;
    }

    void move(double along_slope, double size) {
        slope_ += size * along_slope;
        for (Row& row : rows_) row.level += size * row.step;
    }

    // The expected score of p_.
    double evaluate() const {
        double total = 0;
        for (const Row& row : rows_) total += evaluate(row);
        return total;
    }

    double evaluate(const Row& row) const {
        double total = 0;
        for (std::size_t part = 0; part < problem_.parts; ++part) {
            const double* const weight = table(part, row.row);
            const double* const p = p_.data() + row.begin;
            const std::size_t used = ranks_of(part, row);
            const double repeat = alpha(part, row.row);
            double sum = 0, above = 1;
            for (std::size_t i = 0; i < used; ++i) {
                sum += weight[i] * p[i] * above;
                above = repeat < 0 ? above + p[i] : above * (1 - repeat * p[i]);
            }
            total += sum * scale(part, row.row);
        }
        return total;
    }

    double evaluate_with_gradient() {
        double total = 0;
        for (const Row& row : rows_)
            for (std::size_t part = 0; part < problem_.parts; ++part) {
                const double* const weight = table(part, row.row);
                const double* const p = p_.data() + row.begin;
                double* const gradient = gradient_.data() + row.begin;
                double* const above = above_.data();
                const std::size_t used = ranks_of(part, row);
                const double repeat = alpha(part, row.row), scale = this->scale(part, row.row);
                double sum = 0, product = 1, below = 0;
                for (std::size_t i = 0; i < used; ++i) {
                    above[i] = product;
                    sum += weight[i] * p[i] * product;
                    product = repeat < 0 ? product + p[i] : product * (1 - repeat * p[i]);
                }
                for (std::size_t i = used; i-- > 0;) {
                    if (repeat < 0) {
                        gradient[i] += scale * (weight[i] * above[i] + below);
                        below += weight[i] * p[i];
                    } else {
                        gradient[i] += scale * above[i] * (weight[i] - repeat * below);
                        below = weight[i] * p[i] + (1 - repeat * p[i]) * below;
                    }
                }
                total += sum * scale;
            }
        return total;
    }

    void write(const Row& row, double* out) const {
        double* const to = out + row.row * problem_.ranks;
        const std::size_t length = problem_.length[row.row];
        for (std::size_t i = 0; i < length; ++i) to[i] = p_[row.begin + std::min(i, row.columns - 1)];
    }

    void reserve(std::size_t size) {
        if (p_.size() >= size) return;
        for (std::vector<double>* column : {&p_, &q_, &z_, &gradient_, &above_}) column->resize(size);
    }

    double count(const Row& row, std::size_t column) const { return column + 1 == row.columns ? row.rest : 1.0; }
    std::size_t at(std::size_t part, std::size_t row) const { return part * problem_.found.size() + row; }
    std::size_t table_of(std::size_t part, std::size_t row) const { return problem_.table_of[at(part, row)]; }
    const double* table(std::size_t part, std::size_t row) const {
        return problem_.tables.data() + table_of(part, row) * problem_.ranks;
    }
    double scale(std::size_t part, std::size_t row) const { return problem_.scale[at(part, row)]; }
    double alpha(std::size_t part, std::size_t row) const { return problem_.alpha[at(part, row)]; }
    std::size_t ranks_of(std::size_t part, const Row& row) const {
        return std::min<std::size_t>({static_cast<std::size_t>(problem_.used[table_of(part, row.row)]),
                                      static_cast<std::size_t>(problem_.length[row.row]), row.columns});
    }

    const EntropyProblem& problem_;
    std::vector<Row> rows_;
    std::vector<double> p_, q_, z_, gradient_, above_;
    double target_ = 0, wanted_ = 0, slope_ = 0, spread_ = 1, to_slope_ = 0, aa_ = 0;
    bool curved_ = false, flat_ = false;
};

inline void check(const EntropyProblem& problem) {
    const std::size_t rows = problem.found.size(), tables = problem.used.size();
    const auto refuse = [](const char* what) { throw std::invalid_argument(std::string("max_entropy: ") + what); };
    if (problem.list_start.size() != problem.target.size() + 1 || problem.list_start.front() != 0 ||
        static_cast<std::size_t>(problem.list_start.back()) != rows || !std::is_sorted(problem.list_start.begin(), problem.list_start.end()))
        refuse("list_start does not fit the rows");
    if (problem.length.size() != rows || problem.tables.size() != tables * problem.ranks) refuse("arrays of different lengths");
    for (const std::size_t size : {problem.table_of.size(), problem.scale.size(), problem.alpha.size()})
        if (size != problem.parts * rows) refuse("arrays of different lengths");
    for (const std::int64_t length : problem.length)
        if (length < 1 || static_cast<std::size_t>(length) > problem.ranks) refuse("a length out of range");
    for (const std::int64_t used : problem.used)
        if (used < 0 || static_cast<std::size_t>(used) > problem.ranks) refuse("used out of range");
    for (const std::int32_t table : problem.table_of)
        if (table < 0 || static_cast<std::size_t>(table) >= tables) refuse("a table out of range");
}

}  // namespace entropy

inline EntropySolution max_entropy(const EntropyProblem& problem, unsigned threads) {
    entropy::check(problem);
    const std::size_t lists = problem.target.size();
    EntropySolution solution{std::vector<double>(problem.found.size() * problem.ranks), std::vector<double>(lists)};
    threads = std::max(1u, threads);
    std::vector<entropy::Solver> solvers(threads, entropy::Solver(problem));
    constexpr std::size_t piece_lists = 8;
    parallel_for((lists + piece_lists - 1) / piece_lists, threads, {}, [&](std::size_t piece, unsigned thread) {
        for (std::size_t list = piece * piece_lists; list < std::min(lists, (piece + 1) * piece_lists); ++list)
            solvers[thread].solve(list, solution.probability.data(), solution.expected[list]);
    });
    return solution;
}

}  // namespace cranfield
