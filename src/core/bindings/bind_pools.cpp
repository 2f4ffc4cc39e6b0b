// The documents of many runs, for pools.
#include <optional>
#include <string>

#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "pooled.hpp"

namespace cranfield {
namespace {

void add_run(PooledDocuments& pooled, const Table& table, const std::string& order, bool single_precision, std::size_t depth,
             unsigned threads, bool scores, const std::string& ties) {
    JoinOptions options;
    options.order = make_order(order);
    options.ties = make_ties(ties);
    options.single_precision = single_precision;
    options.depth = depth;
    options.scores = scores;
    const Unlocked unlocked;
    pooled.add(table, options, threads);
}

Table documents(const PooledDocuments& pooled, const std::optional<Column<double>>& values) {
    const Unlocked unlocked;
    return values ? pooled.documents(span_of(*values)) : pooled.documents();
}

}  // namespace

void bind_pools(nb::module_& m) {
    nb::class_<PooledDocuments>(m, "PooledDocuments", "The first documents of every list of many runs, numbered topic by topic.")
        .def(nb::init<>())
        .def("add", &add_run, "table"_a, "order"_a, "single_precision"_a, "depth"_a, "threads"_a, "scores"_a = false, "ties"_a = "z-a",
             "Add a run: the first `depth` documents of each list (0: all), and with `scores` the numbers they are ranked by.")
        .def("documents", &documents, "values"_a = nb::none(),
             "The documents of every topic, in the order of their numbers, with these values or zeros.")
        .def_prop_ro("list_run", [](const PooledDocuments& p) { return view_of(p.list_run); }, "For each list, the number of its run.")
        .def_prop_ro("list_topic", [](const PooledDocuments& p) { return view_of(p.list_topic); }, "For each list, the number of its topic.")
        .def_prop_ro("list_start", [](const PooledDocuments& p) { return view_of(p.list_start); }, "Where each list begins, and where the last one ends.")
        .def_prop_ro("document", [](const PooledDocuments& p) { return view_of(p.document); },
                     "For each place of a list, best first, the number of the document within its topic.")
        .def_prop_ro("score", [](const PooledDocuments& p) { return view_of(p.score); },
                     "For each place of a list, the number that its document is ranked by; empty unless runs were added with scores.");
}

}  // namespace cranfield
