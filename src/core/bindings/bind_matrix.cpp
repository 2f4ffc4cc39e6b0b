// Matrices of scores: the best documents of every row.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"

namespace cranfield {
namespace {

template <typename T>
using Matrix = nb::ndarray<nb::numpy, const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

struct Cell {
    double value;
    std::int32_t column;
    bool operator<(const Cell& other) const {  // true: this cell comes first
        return value > other.value || (value == other.value && column > other.column);
    }
};

constexpr std::size_t kFew = 64;

// Keeps the best cells seen so far in order: most values are below the last of them. The last column is read first, so of equal
// values the one that was read first stays first, and few cells move.
std::size_t first_few(const double* values, const bool* present, std::size_t columns, std::size_t most, std::vector<Cell>& cells) {
    std::size_t size = 0;
    for (std::size_t column = columns; column-- > 0 && most > 0;) {
        if (present && !present[column]) continue;
        const double value = values[column];
        if (size == most && !(value > cells[size - 1].value)) continue;
        std::size_t place = size < most ? size++ : size - 1;
        for (; place > 0 && value > cells[place - 1].value; --place) cells[place] = cells[place - 1];
        cells[place] = {value, static_cast<std::int32_t>(column)};
    }
    return size;
}

std::size_t all_sorted(const double* values, const bool* present, std::size_t columns, std::size_t most, std::vector<Cell>& cells) {
    std::size_t size = 0;
    for (std::size_t column = 0; column < columns; ++column)
        if (!present || present[column]) cells[size++] = {values[column], static_cast<std::int32_t>(column)};
    const auto begin = cells.begin(), end = begin + static_cast<std::ptrdiff_t>(size);
    const std::size_t kept = std::min(most, size);
    if (kept * 4 < size)
        std::partial_sort(begin, begin + static_cast<std::ptrdiff_t>(kept), end);
    else
        std::sort(begin, end);
    return kept;
}

using Hits = std::tuple<Vector1<std::int32_t>, Vector1<std::int32_t>, Vector1<std::int32_t>, Vector1<double>>;

// The cells of the largest values of each row, largest first; of equal values the higher column first. Row, rank, column and
// grade of each; cells whose grade is NaN or below `least` have a rank, but are left out.
Hits top_of_rows(const Matrix<double>& values, const Matrix<double>& grades, const std::optional<Matrix<bool>>& exists,
                 std::size_t most, double least) {
    const std::size_t rows = values.shape(0), columns = values.shape(1);
    const auto check = [&](const auto& other) {
        if (other.shape(0) != rows || other.shape(1) != columns) throw nb::value_error("matrices of different shapes");
    };
    check(grades);
    if (exists) check(*exists);
    most = std::min(most, columns);
    const double *const value = values.data(), *const grade = grades.data();
    const bool* const present = exists ? exists->data() : nullptr;
    std::vector<std::int32_t> row_of, rank, column_of;
    std::vector<double> grade_of;
    {
        const Unlocked unlocked;
        std::vector<Cell> cells(columns);
        for (auto* out : {&row_of, &rank, &column_of}) out->reserve(rows * most);
        grade_of.reserve(rows * most);
        for (std::size_t row = 0; row < rows; ++row) {
            const double* const values_here = value + row * columns;
            const bool* const present_here = present ? present + row * columns : nullptr;
            const std::size_t kept = most <= kFew ? first_few(values_here, present_here, columns, most, cells)
                                                  : all_sorted(values_here, present_here, columns, most, cells);
            for (std::size_t place = 0; place < kept; ++place) {
                const double here = grade[row * columns + static_cast<std::size_t>(cells[place].column)];
                if (!(here >= least)) continue;
                row_of.push_back(static_cast<std::int32_t>(row));
                rank.push_back(static_cast<std::int32_t>(place + 1));
                column_of.push_back(cells[place].column);
                grade_of.push_back(here);
            }
        }
    }
    return {to_numpy(std::move(row_of)), to_numpy(std::move(rank)), to_numpy(std::move(column_of)), to_numpy(std::move(grade_of))};
}

// The largest values of each row that are at least `least`, largest first: how many there are in each row, and all of them.
std::tuple<Vector1<std::int64_t>, Vector1<double>> largest_of_rows(const Matrix<double>& values, std::size_t most, double least) {
    const std::size_t rows = values.shape(0), columns = values.shape(1);
    most = std::min(most, columns);
    const double* value = values.data();
    std::vector<std::int64_t> count(rows);
    std::vector<double> largest(rows * most);
    std::size_t filled = 0;
    {
        const Unlocked unlocked;
        std::vector<double> row_values;
        for (std::size_t row = 0; row < rows && most > 0; ++row, value += columns) {
            double* const kept = largest.data() + filled;
            std::size_t size = 0;
            if (most <= kFew) {
                for (std::size_t column = 0; column < columns; ++column) {
                    const double here = value[column];
                    if (!(here >= least) || (size == most && !(here > kept[size - 1]))) continue;
                    std::size_t place = size < most ? size++ : size - 1;
                    for (; place > 0 && here > kept[place - 1]; --place) kept[place] = kept[place - 1];
                    kept[place] = here;
                }
            } else {
                row_values.clear();
                std::copy_if(value, value + columns, std::back_inserter(row_values), [&](double here) { return here >= least; });
                size = std::min(most, row_values.size());
                std::partial_sort_copy(row_values.begin(), row_values.end(), kept, kept + size, std::greater<>());
            }
            count[row] = static_cast<std::int64_t>(size);
            filled += size;
        }
        largest.resize(filled);
    }
    return {to_numpy(std::move(count)), to_numpy(std::move(largest))};
}

}  // namespace

void bind_matrix(nb::module_& m) {
    m.def("top_of_rows", &top_of_rows, "values"_a, "grades"_a, "exists"_a.none(), "most"_a, "least"_a,
          "Row, rank, column and grade of the largest values of each row that have a grade of at least `least`.");
    m.def("largest_of_rows", &largest_of_rows, "values"_a, "most"_a, "least"_a,
          "The largest values of each row, largest first, from `least` on: their number in each row, and all of them.");
}

}  // namespace cranfield
