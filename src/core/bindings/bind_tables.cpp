// Table: runs and judgments in memory, made from files, dicts and columns.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "digest.hpp"
#include "mapping.hpp"
#include "read_judgments.hpp"
#include "rows_in_order.hpp"
#include "table.hpp"

namespace cranfield {
namespace {

using AnyList = nb::typed<nb::list, nb::any>;

void map_file(Mapping* self, int descriptor, const nb::bytes& path) {
    try {
        new (self) Mapping(descriptor, std::string(path.c_str(), path.size()));
    } catch (const std::system_error& error) {
        errno = error.code().value();
        PyErr_SetFromErrno(PyExc_OSError);
        throw nb::python_error();
    }
}

int mapped_bytes(PyObject* self, Py_buffer* view, int flags) {
    const Mapping& mapping = *nb::inst_ptr<Mapping>(self);
    return PyBuffer_FillInfo(view, self, const_cast<char*>(mapping.data()), static_cast<Py_ssize_t>(mapping.size()), 1, flags);
}

PyType_Slot mapping_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(mapped_bytes)}, {0, nullptr}};

// Judgments from a large file, or from blocks.
std::tuple<Table, Faults> read_in_windows(Feed& feed, ReadOptions options, OnDuplicate rule, bool labels_count, std::size_t window) {
    options.chunk_bytes = std::min(options.chunk_bytes, window / 2 + 1);
    JudgmentReader reader(options, rule, labels_count, window);
    bool complete = false;
    {
        const Unlocked unlocked;
        complete = reader.read(feed);
    }
    if (PyErr_Occurred()) throw nb::python_error();
    if (!complete) throw std::runtime_error("reading was stopped");
    Faults faults;
    for (const Fault& fault : reader.faults) faults.append(nb::make_tuple(0, reader.line, to_str(fault.what)));
    return {reader.table(), std::move(faults)};
}

std::tuple<Table, Faults> read(const Objects& sources, const Strings& columns,
                               const std::string& delimiter, bool header, const nb::str& expected, bool qrels,
                               const std::string& on_duplicate, unsigned threads, std::size_t most_faults, bool keep_lines,
                               bool split_tags, bool labels_count, std::size_t window) {
    ReadOptions options;
    options.layout = make_layout(columns, delimiter, header, expected);
    options.threads = threads;
    options.most_faults = most_faults;
    options.keep_columns = true;
    options.watch = make_watch();
    const OnDuplicate rule = make_rule(on_duplicate);
    if (qrels && sources.size() == 1 && most_faults == 1 && !keep_lines) {
        const Sources opened(sources);
        const bool in_blocks = !PyObject_CheckBuffer(sources[0].ptr());
        if (in_blocks || opened.feeds[0]->size() > window)
            return read_in_windows(*opened.feeds[0], options, rule, labels_count, window);
    }
    const Buffers buffers(sources);
    std::vector<const Mapping*> mapped;
    for (const nb::handle source : sources) mapped.push_back(mapping_of(source));
    options.release = [&](std::size_t source, std::string_view bytes) {
        if (mapped[source]) mapped[source]->release(bytes.data(), bytes.size());
    };
    Table table;
    {
        const Unlocked unlocked;
        table = read_table(buffers.sources, options, qrels, rule, keep_lines, split_tags, labels_count);
    }
    if (PyErr_Occurred()) throw nb::python_error();
    Faults faults = fault_list(table.faults, buffers.sources);
    for (std::size_t s = 0; s < buffers.sources.size(); ++s) options.release(s, buffers.sources[s]);  // the table has copies
    return {std::move(table), std::move(faults)};
}

Table table_from_dict(const nb::typed<nb::dict, nb::any, nb::any>& lists, const nb::str& name, const char* what) {
    TableBuilder builder;
    builder.name(Text().of(name.ptr()));
    const nb::object topics = safe_to_iterate(lists.ptr());
    Py_ssize_t at = 0;
    PyObject *topic = nullptr, *documents = nullptr;
    while (PyDict_Next(topics.ptr(), &at, &topic, &documents)) {
        Text text;
        const std::string_view topic_id = text.of(topic);
        check_id(topic_id, "topic");
        const std::size_t before = builder.table.topics.size();
        const std::int32_t number = builder.topic(topic_id);
        if (static_cast<std::size_t>(number) < before)
            throw nb::value_error(("topic " + quoted(topic_id) + " appears twice, as different Python objects").c_str());
        if (!PyDict_Check(documents))
            throw nb::type_error(("topic " + quoted(topic_id) + ": expected a dict of documents").c_str());
        const nb::object safe_documents = safe_to_iterate(documents);
        Py_ssize_t place = 0;
        PyObject *doc = nullptr, *value = nullptr;
        while (PyDict_Next(safe_documents.ptr(), &place, &doc, &value)) {
            const std::string_view id = text.of(doc);
            check_id(id, "document");
            builder.add(id, to_double(value, topic_id, id, what));
        }
        builder.end_list(0, number);
    }
    return builder.finish();
}

// A table from columns, some rows at a time.
class TableColumns {
public:
    TableColumns(const std::string& on_duplicate, std::string what) : rule_(make_rule(on_duplicate)), what_(std::move(what)) {}

    void add(const std::optional<AnyList>& names, const AnyList& topics, const AnyList& docs, const AnyList& values,
             const std::optional<AnyList>& ranks, const std::optional<AnyList>& labels) {
        const std::size_t rows = docs.size();
        const auto check_length = [rows](const AnyList& column) {
            if (column.size() != rows)
                throw nb::value_error(("columns of different lengths: " + std::to_string(column.size()) + " and " +
                                       std::to_string(rows)).c_str());
        };
        check_length(topics), check_length(values);
        for (const auto& column : {names, ranks, labels})
            if (column) check_length(*column);
        if (finished_) throw nb::value_error("the table was made before");
        if (rows_.size() > 0 && (names.has_value() != named_ || ranks.has_value() != rows_.ranked || labels.has_value() != rows_.labelled))
            throw nb::value_error("columns that earlier rows do not have");
        named_ = names.has_value(), rows_.ranked = ranks.has_value(), rows_.labelled = labels.has_value();
        Text text;
        PyObject *last_topic = nullptr, *last_label = nullptr;  // the same object needs no look-up
        std::int32_t label = 0, last_name = -1;
        for (std::size_t row = 0; row < rows; ++row) {
            const auto item = [row](const nb::handle& list) { return PyList_GET_ITEM(list.ptr(), static_cast<Py_ssize_t>(row)); };
            const std::int32_t name = names ? rows_.name(text.of(item(*names))) : rows_.name("");
            const std::string_view topic_id = text.of(item(topics)), id = text.of(item(docs));
            check_id(topic_id, "topic");
            check_id(id, "document");
            if (item(topics) != last_topic || name != last_name) {
                last_topic = item(topics), last_name = name;
                rows_.go_to_list(name, topic_id);
            }
            if (labels && item(*labels) != last_label) label = rows_.builder.label(text.of(last_label = item(*labels)));
            rows_.add(id, to_double(item(values), topic_id, id, what_.c_str()),
                      ranks ? to_double(item(*ranks), topic_id, id, "rank") : 0.0, label);
        }
    }

    Table table() {
        if (std::exchange(finished_, true)) throw nb::value_error("the table was made before");
        if (!named_) rows_.name("");
        try {
            return rows_.finish(rule_);
        } catch (const RepeatedRow& repeat) {
            throw nb::value_error(repeat.what());
        }
    }

private:
    OnDuplicate rule_;
    std::string what_;
    RowsInOrder rows_;
    bool named_ = false, finished_ = false;
};

Table table_from_columns(const std::optional<AnyList>& names, const AnyList& topics, const AnyList& docs, const AnyList& values,
                         const std::optional<AnyList>& ranks, const std::optional<AnyList>& labels,
                         const std::string& on_duplicate, const std::string& what) {
    TableColumns columns(on_duplicate, what);
    columns.add(names, topics, docs, values, ranks, labels);
    return columns.table();
}

Strings table_docs(const Table& table, std::size_t begin, std::size_t end) {
    Strings out;
    for (std::size_t i = begin; i < std::min(end, table.size()); ++i) out.append(to_str(table.id(i)));
    return out;
}

Table table_take(const Table& table, const Column<std::int64_t>& rows, const nb::str& name) {
    return take_rows(table, rows.data(), rows.size(), Text().of(name.ptr()));
}

std::tuple<Vector1<std::int64_t>, Vector1<double>> table_order(const Table& table, std::size_t list, const std::string& order,
                                                               bool single_precision, const std::string& ties) {
    if (list >= table.lists()) throw nb::index_error("the table has no such list");
    JoinOptions options;
    options.order = make_order(order);
    options.ties = make_ties(ties);
    options.single_precision = single_precision;
    Ranker ranker(options);
    const auto begin = static_cast<std::size_t>(table.list_start[list]);
    const auto end = static_cast<std::size_t>(table.list_start[list + 1]);
    std::unordered_map<std::uint64_t, std::int64_t> position;
    for (std::size_t i = begin; i < end; ++i) {
        const double key = options.order == Order::rank && !table.rank.empty() ? -table.rank[i] : table.value[i];
        ranker.documents.push_back({key, table.doc[i]});
        position.emplace(table.doc[i].packed, static_cast<std::int64_t>(i));
    }
    ranker.rank_only(table.arena.data());
    std::vector<std::int64_t> positions;
    std::vector<double> keys;
    for (const auto& document : ranker.documents) {
        positions.push_back(position.at(document.doc.packed));
        keys.push_back(document.key);
    }
    return {to_numpy(std::move(positions)), to_numpy(std::move(keys))};
}

}  // namespace

void bind_tables(nb::module_& m) {
    nb::class_<Mapping>(m, "Mapping", nb::type_slots(mapping_slots), "The bytes of an open file, mapped into memory.")
        .def("__init__", &map_file, "descriptor"_a, "path"_a)
        .def_prop_ro("path", [](const Mapping& mapping) { return nb::bytes(mapping.path().data(), mapping.path().size()); }, "The path of the file.")
        .def("release", [](const Mapping& mapping, std::size_t end) { mapping.release(mapping.data(), std::min(end, mapping.size())); }, "end"_a,
             "Let the bytes up to `end` leave the memory; they are read from the file again if they are needed again.")
        .def_prop_ro("cut_short", &Mapping::cut_short, "Whether another program has cut the file short; the bytes after its end are zeros.");

    nb::class_<Table>(m, "Table", "A run or judgments in memory: one row per document, grouped into lists (run × topic).")
        .def("__len__", &Table::size)
        .def_prop_ro("names", [](const Table& t) { return to_strs(t.names); }, "The run tags; one empty name for judgments.")
        .def_prop_ro("tags", [](const Table& t) { return to_strs(t.tags); }, "The different texts in the last column of a run file.")
        .def_prop_ro("sources", [](const Table& t) { return t.sources; }, "The file that each name comes from.")
        .def_prop_ro("topics", [](const Table& t) { return to_strs(t.topics); }, "The topics, in order of first appearance.")
        .def_prop_ro("labels", [](const Table& t) { return to_strs(t.labels); }, "The different texts of column 2: Q0, iteration or intent.")
        .def_prop_ro("dropped", [](const Table& t) { return t.dropped; }, "The number of duplicate rows that were dropped.")
        .def_prop_ro("odd", [](const Table& t) { return oddity_list(t.odd); },
                     "Numbers that may not be what their author meant: (source, line, message) each.")
        .def_prop_ro("list_name", [](const Table& t) { return view_of(t.list_name); }, "For each list, the index of its name.")
        .def_prop_ro("list_topic", [](const Table& t) { return view_of(t.list_topic); }, "For each list, the index of its topic.")
        .def_prop_ro("list_start", [](const Table& t) { return view_of(t.list_start); }, "Where each list begins, and where the last one ends.")
        .def_prop_ro("values", [](nb::pointer_and_handle<Table> t) { return numbers_of(t.p->value, t.h); }, nb::rv_policy::automatic,
                     "For each row, the score or grade.")
        .def_prop_ro("ranks", [](const Table& t) { return view_of(t.rank); }, "For each row, the rank column; empty if the file has none.")
        .def_prop_ro("label", [](const Table& t) { return view_of(t.label); }, "For each row, the index of its label; empty if there is only one label.")
        .def_prop_ro("lines", [](const Table& t) { return view_of(t.line); }, "For each row, its line in the file; empty unless `keep_lines`.")
        .def("take", &table_take, "rows"_a, "name"_a, "Return some rows as a table under one name. Rows of one list must follow one another.")
        .def("renamed", [](const Table& t, const nb::str& name) {
            Table copy = t;
            copy.names.assign(t.names.size(), std::string(Text().of(name.ptr())));
            return copy;
        }, "name"_a, "Return a copy with another name.")
        .def("furthest_from_zero", [](const Table& t) { return t.value.furthest_from_zero(); },
             "Return the value that is furthest from 0, the first one if there are several: its row, and the value.")
        .def("digests", [](const Table& t, bool labels_count) { return to_numpy(unlocked([&] { return list_digests(t, labels_count); })); },
             "labels_count"_a, "Return the digest of each list, which does not depend on the order of its rows.")
        .def("docs", &table_docs, "begin"_a, "end"_a, "Return the document ids of the rows from `begin` up to `end`.")
        .def("order", &table_order, "list"_a, "order"_a, "single_precision"_a, "ties"_a = "z-a",
             "Return the rows of a list, best first, and the number that each is ranked by.");

    m.def("read", &read, "sources"_a, "columns"_a, "delimiter"_a, "header"_a, "expected"_a, "qrels"_a, "on_duplicate"_a, "threads"_a,
          "most_faults"_a, "keep_lines"_a = false, "split_tags"_a = false, "labels_count"_a = true,
          "window"_a = std::size_t{16} << 20,
          "Read files, given as buffers. Judgments of more than `window` bytes are read so many bytes at a time if one fault is\n"
          "enough and lines are not kept; then they may also be an object with `read()`, as for `join_files`.\n"
          "Return the table and the faults: (source, line, message) each.");
    m.def("table_from_dict", &table_from_dict, "lists"_a, "name"_a, "what"_a,
          "Build a table from a dict topic -> document -> number. `what` names the number in messages.");
    nb::class_<TableColumns>(m, "TableColumns", "A table from columns, some rows at a time.")
        .def(nb::init<const std::string&, std::string>(), "on_duplicate"_a, "what"_a)
        .def("add", &TableColumns::add, "names"_a.none(), "topics"_a, "docs"_a, "values"_a, "ranks"_a.none(), "labels"_a.none(),
             "Add rows: columns of equal length.")
        .def("table", &TableColumns::table, "Return the table; nothing can be added afterwards.");
    m.def("table_from_columns", &table_from_columns, "names"_a.none(), "topics"_a, "docs"_a, "values"_a, "ranks"_a.none(),
          "labels"_a.none(), "on_duplicate"_a, "what"_a, "Build a table from columns of equal length. `what` names the values in messages.");
    m.def("parse_number", [](const nb::bytes& text) { return parse_number({text.c_str(), text.size()}); }, "text"_a,
          "Parse a number as the reader does; None if the text is not a number.");
}

}  // namespace cranfield
