// Longest common subsequences of two sequences of numbered words, plain and weighted.
//
// The plain one advances 64 columns at a time (Hyyrö, Bit-Parallel LCS-length Computation Revisited, AWOCA 2004): a row of the
// table is a bit vector in which a 0 says that the length grows by one in that column. Memory is linear in the lengths.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace cranfield {

using WordSpan = std::span<const std::int32_t>;

class CommonSubsequence {
public:
    explicit CommonSubsequence(std::size_t vocabulary) : first_(vocabulary, -1), frequent_(vocabulary, -1) {}

    std::size_t length(WordSpan rows, WordSpan columns) {
        begin(columns);
        for (const std::int32_t word : rows) step(word);
        end(columns);
        return zeros(row_.data(), columns.size());
    }

    // Sets hit[i] = 1 for the rows of one longest common subsequence. Where several exist, it is the one that is found by going
    // back from the last row and column, diagonally where words are equal, else up if that keeps the length, else left.
    void mark(WordSpan rows, WordSpan columns, std::vector<char>& hit) {
        if (rows.empty() || columns.empty()) return;
        const std::size_t blocks = (columns.size() + 63) / 64;
        const std::size_t stride = rows.size() <= 512 ? rows.size() : static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(rows.size()))));
        begin(columns);
        kept_.clear();  // the row before every stride-th one
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (i % stride == 0) kept_.insert(kept_.end(), row_.begin(), row_.end());
            step(rows[i]);
        }
        std::size_t i = rows.size(), j = columns.size();
        for (std::size_t part = (rows.size() - 1) / stride + 1; part-- > 0 && j > 0;) {
            const std::size_t start = part * stride, stop = std::min(rows.size(), start + stride);
            block_.assign(kept_.begin() + static_cast<std::ptrdiff_t>(part * blocks), kept_.begin() + static_cast<std::ptrdiff_t>((part + 1) * blocks));
            row_ = block_;
            for (std::size_t r = start; r < stop; ++r) {
                step(rows[r]);
                block_.insert(block_.end(), row_.begin(), row_.end());
            }
            auto row = [&](std::size_t number) { return block_.data() + (number - start) * blocks; };
            std::size_t here = zeros(row(i), j), above = zeros(row(i - 1), j);
            while (i > start && j > 0) {
                if (rows[i - 1] == columns[j - 1]) {
                    hit[i - 1] = 1;
                    --i, --j;
                } else if (here == above) {
                    --i;
                } else {
                    --j;
                    here -= is_zero(row(i), j);
                    above -= is_zero(row(i - 1), j);
                    continue;
                }
                if (i > start) here = zeros(row(i), j), above = zeros(row(i - 1), j);
            }
        }
        end(columns);
    }

private:
    void begin(WordSpan columns) {
        row_.assign((columns.size() + 63) / 64, ~std::uint64_t{0});
        next_.resize(columns.size());
        for (std::size_t j = columns.size(); j-- > 0;) {
            std::int32_t& first = first_[static_cast<std::size_t>(columns[j])];
            next_[j] = first;
            first = static_cast<std::int32_t>(j);
        }
        match_.assign(row_.size(), 0);
        if (row_.size() >= 8) keep_frequent(columns);
    }
    // Keeps the columns of frequent words as bits. At most 64 words are that frequent, so that memory stays linear.
    void keep_frequent(WordSpan columns) {
        for (const std::int32_t word : columns) {
            std::size_t count = 0;
            if (frequent_[static_cast<std::size_t>(word)] != -1) continue;
            for_columns(word, [&](std::size_t) { ++count; });
            frequent_[static_cast<std::size_t>(word)] = -2;
            if (count < row_.size()) continue;
            frequent_[static_cast<std::size_t>(word)] = static_cast<std::int32_t>(masks_.size() / row_.size());
            masks_.resize(masks_.size() + row_.size(), 0);
            std::uint64_t* mask = masks_.data() + masks_.size() - row_.size();
            for_columns(word, [&](std::size_t j) { mask[j / 64] |= std::uint64_t{1} << (j % 64); });
        }
    }
    void end(WordSpan columns) {
        for (const std::int32_t word : columns) first_[static_cast<std::size_t>(word)] = frequent_[static_cast<std::size_t>(word)] = -1;
        masks_.clear();
    }
    template <typename Use>
    void for_columns(std::int32_t word, const Use& use) const {
        for (std::int32_t j = first_[static_cast<std::size_t>(word)]; j >= 0; j = next_[static_cast<std::size_t>(j)]) use(static_cast<std::size_t>(j));
    }
    void step(std::int32_t word) {
        const std::int32_t first = first_[static_cast<std::size_t>(word)], frequent = frequent_[static_cast<std::size_t>(word)];
        if (first < 0) return;  // the word is in no column
        const std::uint64_t* match = match_.data();
        if (frequent >= 0)
            match = masks_.data() + static_cast<std::size_t>(frequent) * row_.size();
        else
            for_columns(word, [&](std::size_t j) { match_[j / 64] |= std::uint64_t{1} << (j % 64); });
        std::uint64_t carry = 0;
        for (std::size_t b = static_cast<std::size_t>(first) / 64; b < row_.size(); ++b) {
            const std::uint64_t v = row_[b], u = v & match[b];
            const std::uint64_t partial = v + u, sum = partial + carry;
            carry = (partial < v) | (sum < partial);
            row_[b] = sum | (v & ~match[b]);
        }
        if (frequent < 0) for_columns(word, [&](std::size_t j) { match_[j / 64] = 0; });
    }
    static bool is_zero(const std::uint64_t* row, std::size_t j) { return !(row[j / 64] >> (j % 64) & 1); }
    static std::size_t zeros(const std::uint64_t* row, std::size_t length) {
        std::size_t count = 0;
        for (std::size_t b = 0; b < length / 64; ++b) count += static_cast<std::size_t>(std::popcount(~row[b]));
        if (length % 64) count += static_cast<std::size_t>(std::popcount(~row[length / 64] & ((std::uint64_t{1} << (length % 64)) - 1)));
        return count;
    }

    std::vector<std::int32_t> first_, next_;  // the columns of each word, as lists
    std::vector<std::int32_t> frequent_;      // the number of a frequent word in `masks_`; -2 for others of a long text
    std::vector<std::uint64_t> row_, match_, masks_, kept_, block_;
};

// Runs of consecutive matches of length k are worth k to the power of `weight`.
class WeightedSubsequence {
public:
    explicit WeightedSubsequence(double weight) : weight_(weight) {}

    double worth(double length) const { return std::pow(length, weight_); }

    // The worth of the best common subsequence, by two rows of the table.
    double best(WordSpan rows, WordSpan columns) {
        begin(rows, columns);
        for (const std::int32_t word : rows) step(word, columns, nullptr);
        return value_.back();
    }

    // As `CommonSubsequence::mark`. Directions are kept for some rows only; where to go on is kept every `stride` rows.
    void mark(WordSpan rows, WordSpan columns, std::vector<char>& hit) {
        if (rows.empty() || columns.empty()) return;
        begin(rows, columns);
        const std::size_t width = columns.size();
        const std::size_t stride = rows.size() <= 512 ? rows.size() : static_cast<std::size_t>(std::ceil(std::sqrt(12.0 * static_cast<double>(rows.size()))));
        kept_value_.clear();
        kept_run_.clear();
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (i % stride == 0) {
                kept_value_.insert(kept_value_.end(), value_.begin(), value_.end());
                kept_run_.insert(kept_run_.end(), run_.begin(), run_.end());
            }
            step(rows[i], columns, nullptr);
        }
        std::size_t i = rows.size(), j = width;
        for (std::size_t part = (rows.size() - 1) / stride + 1; part-- > 0 && j > 0;) {
            const std::size_t start = part * stride, stop = std::min(rows.size(), start + stride);
            const auto offset = static_cast<std::ptrdiff_t>(part * (width + 1)), end = static_cast<std::ptrdiff_t>((part + 1) * (width + 1));
            value_.assign(kept_value_.begin() + offset, kept_value_.begin() + end);
            run_.assign(kept_run_.begin() + offset, kept_run_.begin() + end);
            direction_.resize((stop - start) * width);
            for (std::size_t r = start; r < stop; ++r) step(rows[r], columns, direction_.data() + (r - start) * width);
            while (i > start && j > 0) {
                const char direction = direction_[(i - 1 - start) * width + j - 1];
                if (direction == diagonal) hit[i - 1] = 1;
                if (direction != left) --i;
                if (direction != up) --j;
            }
        }
    }

private:
    static constexpr char diagonal = 0, up = 1, left = 2;

    void begin(WordSpan rows, WordSpan columns) {
        for (std::size_t k = powers_.size(); k <= std::min(rows.size(), columns.size()) + 1; ++k) powers_.push_back(std::pow(static_cast<double>(k), weight_));
        value_.assign(columns.size() + 1, 0.0);
        run_.assign(columns.size() + 1, 0);
    }
    void step(std::int32_t word, WordSpan columns, char* directions) {
        double diagonal_value = 0;  // of the row before, one column to the left
        std::int32_t diagonal_run = 0;
        for (std::size_t j = 1; j <= columns.size(); ++j) {
            const double above = value_[j];
            const std::int32_t above_run = run_[j];
            char direction = diagonal;
            if (word == columns[j - 1]) {
                const auto k = static_cast<std::size_t>(diagonal_run);
                value_[j] = diagonal_value + powers_[k + 1] - powers_[k];
                run_[j] = diagonal_run + 1;
            } else {
                direction = above >= value_[j - 1] ? up : left;
                if (direction == left) value_[j] = value_[j - 1];
                run_[j] = 0;
            }
            if (directions) directions[j - 1] = direction;
            diagonal_value = above;
            diagonal_run = above_run;
        }
    }

    double weight_;
    std::vector<double> powers_, value_, kept_value_;
    std::vector<std::int32_t> run_, kept_run_;
    std::vector<char> direction_;
};

}  // namespace cranfield
