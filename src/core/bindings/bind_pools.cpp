// The documents of many runs, for pools.
#include <string>

#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "pooled.hpp"

namespace cranfield {
namespace {

void add_run(PooledDocuments& pooled, const Table& table, const std::string& order, bool single_precision, std::size_t depth,
             unsigned threads) {
    JoinOptions options;
    options.order = make_order(order);
    options.single_precision = single_precision;
    options.depth = depth;
    const Unlocked unlocked;
    pooled.add(table, options, threads);
}

}  // namespace

void bind_pools(nb::module_& m) {
    nb::class_<PooledDocuments>(m, "PooledDocuments", "The first documents of every list of many runs, numbered topic by topic.")
        .def(nb::init<>())
        .def("add", &add_run, "table"_a, "order"_a, "single_precision"_a, "depth"_a, "threads"_a,
             "Add a run: the first `depth` documents of each list (0: all).")
        .def("documents", &PooledDocuments::documents, "The documents of every topic, in the order of their numbers.")
        .def_prop_ro("list_run", [](const PooledDocuments& p) { return view_of(p.list_run); }, "For each list, the number of its run.")
        .def_prop_ro("list_topic", [](const PooledDocuments& p) { return view_of(p.list_topic); }, "For each list, the number of its topic.")
        .def_prop_ro("list_start", [](const PooledDocuments& p) { return view_of(p.list_start); }, "Where each list begins, and where the last one ends.")
        .def_prop_ro("document", [](const PooledDocuments& p) { return view_of(p.document); },
                     "For each place of a list, best first, the number of the document within its topic.");
}

}  // namespace cranfield
