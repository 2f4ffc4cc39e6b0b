// What Python sees of the core: Table (run or qrels in memory), Judged (qrels ready to join) and the joins.
#include "documents.hpp"
#include "join_files.hpp"
#include "greedy.hpp"
#include "intents.hpp"
#include "join_runs.hpp"
#include "bindings/convert.hpp"
#include "bindings/bind_resampling.cpp"
#include "bindings/bind_tables.cpp"

NB_MODULE(_core, m) {
    using namespace cranfield;
    nb::set_leak_warnings(false);  // a run that a script or a notebook still holds when Python ends is no leak
    m.doc() = "Reading runs and qrels, ranking, joining, resampling: the loops numpy cannot do.";

    nb::class_<Table>(m, "Table", "Run or qrels in memory, grouped by list.")
        .def("__len__", &Table::size)
        .def_prop_ro("names", [](const Table& t) { return to_strs(t.names); })
        .def_prop_ro("sources", [](const Table& t) { return t.sources; })
        .def_prop_ro("topics", [](const Table& t) { return to_strs(t.topics); })
        .def_prop_ro("labels", [](const Table& t) { return to_strs(t.labels); })
        .def_prop_ro("dropped", [](const Table& t) { return t.dropped; })
        .def_prop_ro("list_name", [](const Table& t) { return look(t.list_name); })
        .def_prop_ro("list_topic", [](const Table& t) { return look(t.list_topic); })
        .def_prop_ro("list_start", [](const Table& t) { return look(t.list_start); })
        .def_prop_ro("values", [](const Table& t) { return look(t.value); })
        .def_prop_ro("ranks", [](const Table& t) { return look(t.rank); })
        .def_prop_ro("label", [](const Table& t) { return look(t.label); })
        .def_prop_ro("lines", [](const Table& t) { return look(t.line); })
        .def("take", &table_take, "rows"_a, "name"_a)
        .def("renamed", [](const Table& t, const std::string& name) {
            Table copy = t;
            copy.names.assign(t.names.size(), name);
            return copy;
        }, "name"_a)
        .def("docs", &table_docs, "begin"_a, "end"_a)
        .def("order", &table_order, "list"_a, "order"_a, "single_precision"_a);

    nb::class_<Judged>(m, "Judged", "Qrels ready to be joined: documents by topic in hash tables.")
        .def_prop_ro("topics", [](const Judged& j) { return to_strs(j.topics); })
        .def_prop_ro("start", [](const Judged& j) { return look(j.start); })
        .def_prop_ro("grade", [](const Judged& j) { return look(j.grade); })
        .def_prop_ro("dropped", [](const Judged& j) { return j.dropped; });

    m.def("read", &py_read, "sources"_a, "columns"_a, "delimiter"_a, "header"_a, "expected"_a, "qrels"_a, "on_duplicate"_a,
          "threads"_a, "most_faults"_a, "keep_lines"_a = false);
    m.def("table_from_dict", &table_from_dict, "lists"_a, "name"_a, "what"_a);
    m.def("table_from_columns", &table_from_columns, "names"_a.none(), "topics"_a, "docs"_a, "values"_a, "ranks"_a.none(),
          "labels"_a.none(), "on_duplicate"_a, "what"_a);
    m.def("judged", &make_judged, "table"_a, "on_duplicate"_a);
    m.def("join_files", &py_join_files, "judged"_a, "sources"_a, "columns"_a, "delimiter"_a, "header"_a, "expected"_a, "order"_a,
          "single_precision"_a, "on_duplicate"_a, "depth"_a, "threads"_a, "progress"_a.none(), "numbers"_a.none() = nb::none(),
          "scores"_a = false);
    m.def("join_tables", &py_join_tables, "judged"_a, "tables"_a, "order"_a, "single_precision"_a, "depth"_a, "threads"_a = 1,
          "numbers"_a.none() = nb::none(), "scores"_a = false);
    m.def("join_dicts", &py_join_dicts, "judged"_a, "runs"_a, "order"_a, "single_precision"_a, "depth"_a,
          "numbers"_a.none() = nb::none(), "scores"_a = false);
    m.def("by_document", &py_by_document, "table"_a, "place"_a);
    m.def("documents_by_intent", &py_documents_by_intent, "table"_a, "place"_a);
    m.def("intents_before", &py_intents_before, "row"_a, "document"_a, "intents"_a, "start"_a, "nth"_a);
    m.def("hits_by_intent", &py_hits_by_intent, "row"_a, "document"_a, "intents"_a, "start"_a, "nth"_a);
    m.def("lists_by_intent", &py_lists_by_intent, "row"_a, "document"_a, "intents"_a, "start"_a, "nth"_a, "rank"_a, "grade"_a);
    m.def("greedy_ideal", &py_greedy_ideal, "topic_start"_a, "intents"_a, "start"_a, "nth"_a, "worth"_a, "lasting"_a,
          "depth"_a);
    m.def("flip_counts", &py_flip_counts, "scores"_a, "first"_a, "second"_a, "limits"_a, "two_sided"_a, "all"_a, "seed"_a, "begin"_a,
          "end"_a, "threads"_a);
    m.def("bootstrap_counts", &py_bootstrap_counts, "centred"_a, "largest"_a, "first"_a, "second"_a, "limits"_a, "two_sided"_a,
          "seed"_a, "begin"_a, "end"_a, "threads"_a, "kept"_a, "sizes"_a, "floors"_a);
    m.def("bootstrap_borderline", &py_bootstrap_borderline, "centred"_a, "largest"_a, "first"_a, "second"_a, "limits"_a, "wanted"_a,
          "seed"_a, "resamples"_a, "threads"_a);
    m.def("last_of_largest", &py_last_of_largest, "kept"_a, "sizes"_a, "floors"_a);
    m.def("permuted_ranges", &py_permuted_ranges, "scores"_a, "seed"_a, "begin"_a, "end"_a, "threads"_a);
    m.def("two_sample_differences", &py_two_sample_differences, "values"_a, "in_x"_a, "from_"_a, "summary"_a, "seed"_a, "begin"_a,
          "end"_a, "threads"_a);
    m.def("parse_number", [](nb::bytes text) { return parse_number({text.c_str(), text.size()}); }, "text"_a);
}
