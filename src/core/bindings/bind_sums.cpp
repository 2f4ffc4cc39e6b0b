// Sums of the columns of a table.
#include <nanobind/stl/variant.h>

#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "group_sums.hpp"

namespace cranfield {
namespace {

using AnyColumn = std::variant<Column<double>, Column<std::int64_t>>;

std::pair<Vector1<double>, Vector1<double>> py_group_sums(const Column<std::int32_t>& group, std::size_t groups,
                                                          const std::vector<AnyColumn>& columns, const Column<double>& shift,
                                                          const Column<std::int32_t>& first, const Column<std::int32_t>& second,
                                                          unsigned threads) {
    std::vector<Numbers> numbers;
    numbers.reserve(columns.size());
    for (const AnyColumn& column : columns)
        std::visit([&](const auto& values) { numbers.emplace_back(span_of(values)); }, column);
    GroupSums result;
    {
        const Unlocked unlocked;
        result = group_sums(span_of(group), groups, numbers, span_of(shift), span_of(first), span_of(second), threads);
    }
    return {to_numpy(std::move(result.sums)), to_numpy(std::move(result.products))};
}

}  // namespace

void bind_sums(nb::module_& m) {
    m.def("group_sums", &py_group_sums, "group"_a, "groups"_a, "columns"_a, "shift"_a, "first"_a, "second"_a, "threads"_a,
          "For each group of rows: the sums of columns minus their shifts, and of the products of pairs of them; flat arrays.");
}

}  // namespace cranfield
