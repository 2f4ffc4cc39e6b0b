// A column of numbers that takes one byte for each of them if few are different, as grades are.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "memory.hpp"

namespace cranfield {

// Different numbers, in order of first appearance.
class Levels {
public:
    static constexpr std::size_t kMost = 256;

    // The place of a number among them, where it is added if it is new; -1 if there is no room. There is none for -0.0, which
    // equals 0.0 and is another number.
    int place(double number) {
        constexpr std::uint64_t kMinusZero = std::uint64_t{1} << 63;
        const auto bits = std::bit_cast<std::uint64_t>(number);
        for (std::size_t at = static_cast<std::size_t>((bits * 0x9e3779b97f4a7c15ULL) >> 54);; at = (at + 1) % slots_.size()) {
            const std::uint16_t slot = slots_[at];
            if (slot > 0 && std::bit_cast<std::uint64_t>(numbers_[slot - 1u]) == bits) return slot - 1;
            if (slot > 0) continue;
            if (numbers_.size() == kMost || bits == kMinusZero) return -1;
            numbers_.push_back(number);
            slots_[at] = static_cast<std::uint16_t>(numbers_.size());
            return static_cast<int>(numbers_.size()) - 1;
        }
    }
    const std::vector<double>& numbers() const { return numbers_; }

private:
    std::vector<double> numbers_;
    std::array<std::uint16_t, 1024> slots_{};  // 0: free; else the place of a number, counted from 1
};

// Each number as it is, or as its place among the levels.
class NumberColumn {
public:
    std::size_t size() const { return coded_ ? codes_.size() : plain_.size(); }
    bool empty() const { return size() == 0; }
    double operator[](std::size_t at) const { return coded_ ? levels_.numbers()[codes_[at]] : plain_[at]; }

    void push_back(double number) {
        be_plain();
        plain_.push_back(number);
    }
    void resize(std::size_t size) {
        in_use([size](auto& column) { column.resize(size); });
    }
    void reserve(std::size_t size) {
        in_use([size](auto& column) { column.reserve(size); });
    }
    // For a column without codes.
    void set(std::size_t at, double number) { plain_[at] = number; }
    // Writes the number at one place to another.
    void copy(std::size_t from, std::size_t to) {
        in_use([from, to](auto& column) { column[to] = column[from]; });
    }

    bool coded() const { return coded_; }
    const std::vector<double>& levels() const { return levels_.numbers(); }
    const LongColumn<std::uint8_t>& codes() const { return codes_; }
    LongColumn<std::uint8_t>& codes() { return codes_; }
    const LongColumn<double>& plain() const { return plain_; }

    // From now on an empty column has codes.
    void be_coded() { coded_ = true; }
    // The code of a number; -1 if there is none.
    int code(double number) { return levels_.place(number); }
    // From now on, all numbers are as they are; there is room for so many.
    void be_plain(std::size_t room = 0) {
        if (!coded_) return;
        plain_ = decoded(room);
        coded_ = false;
        codes_ = {};
        levels_ = {};
    }
    // All numbers as they are.
    LongColumn<double> decoded(std::size_t room = 0) const {
        LongColumn<double> numbers;
        numbers.reserve(std::max(size(), room));
        for (std::size_t at = 0; at < size(); ++at) numbers.push_back((*this)[at]);
        return numbers;
    }

    // The number that is furthest from 0, the first one if there are several, and where it is; 0 if there is none.
    std::pair<std::size_t, double> furthest_from_zero() const {
        std::pair<std::size_t, double> furthest{0, empty() ? 0.0 : (*this)[0]};
        for (std::size_t at = 1; at < size(); ++at)
            if (const double number = (*this)[at]; std::abs(number) > std::abs(furthest.second)) furthest = {at, number};
        return furthest;
    }

    // Calls change(column) with the column in use.
    template <typename Change>
    void in_use(const Change& change) {
        if (coded_)
            change(codes_);
        else
            change(plain_);
    }

private:
    bool coded_ = false;
    Levels levels_;
    LongColumn<std::uint8_t> codes_;
    LongColumn<double> plain_;
};

}  // namespace cranfield
