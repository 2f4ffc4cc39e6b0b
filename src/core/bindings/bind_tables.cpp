// Tables made from files, dicts and columns, and looked at from Python.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/convert.hpp"
#include "table.hpp"

namespace cranfield {
namespace {

nb::tuple py_read(const std::vector<nb::object>& sources, const std::vector<std::string>& columns,
                  const std::string& delimiter, bool header, const std::string& expected, bool qrels,
                  const std::string& on_duplicate, unsigned threads, std::size_t most_faults, bool keep_lines) {
    const Buffers buffers(sources);
    ReadOptions options;
    options.layout = make_layout(columns, delimiter, header, expected);
    options.threads = threads;
    options.most_faults = most_faults;
    options.keep_columns = true;
    options.watch = make_watch(nb::none(), 0);
    const OnDuplicate rule = make_rule(on_duplicate);
    auto table = std::make_unique<Table>();
    {
        const nb::gil_scoped_release release;
        *table = read_table(buffers.sources, options, qrels, rule, keep_lines);
    }
    if (PyErr_Occurred()) throw nb::python_error();
    nb::list faults = fault_list(table->faults, buffers.sources);
    return nb::make_tuple(nb::cast(table.release(), nb::rv_policy::take_ownership), faults);
}

Table table_from_dict(const nb::dict& lists, const std::string& name, const char* what) {
    TableBuilder builder;
    builder.name(name);
    const nb::object walked = steady(lists.ptr());
    Py_ssize_t at = 0;
    PyObject *topic = nullptr, *documents = nullptr;
    while (PyDict_Next(walked.ptr(), &at, &topic, &documents)) {
        Text text;
        const std::string_view topic_id = text.of(topic);
        check_id(topic_id, "topic");
        const std::size_t before = builder.table.topics.size();
        const std::int32_t number = builder.topic(topic_id);
        if (static_cast<std::size_t>(number) < before)
            throw nb::value_error(("topic " + quoted(topic_id) + " is there twice, as different Python objects").c_str());
        if (!PyDict_Check(documents))
            throw nb::type_error(("topic " + quoted(topic_id) + ": expected a dict of documents").c_str());
        const nb::object steady_documents = steady(documents);
        Py_ssize_t place = 0;
        PyObject *doc = nullptr, *value = nullptr;
        while (PyDict_Next(steady_documents.ptr(), &place, &doc, &value)) {
            const std::string_view id = text.of(doc);
            check_id(id, "document");
            builder.add(id, to_double(value, topic_id, id, what));
        }
        builder.end_list(0, number);
    }
    return builder.finish();
}

// Columns as Python lists (names, ranks and labels may be None), grouped by name and topic in order of appearance.
Table table_from_columns(const nb::object& names, const nb::list& topics, const nb::list& docs, const nb::list& values,
                         const nb::object& ranks, const nb::object& labels, const std::string& on_duplicate,
                         const char* what) {
    const std::size_t rows = nb::len(docs);
    const auto same_length = [rows](const nb::object& column) {
        if (!column.is_none() && nb::len(column) != rows)
            throw nb::value_error(("columns of different lengths: " + std::to_string(nb::len(column)) + " and " +
                                   std::to_string(rows)).c_str());
    };
    for (const nb::object& column : {nb::object(names), nb::object(topics), nb::object(values), nb::object(ranks), nb::object(labels)})
        same_length(column);
    Text text;
    TableBuilder builder;
    std::unordered_map<std::string, std::int32_t> name_number;
    if (names.is_none()) builder.name("");
    std::unordered_map<std::uint64_t, std::size_t> list_number;
    struct Rows {
        std::int32_t name, topic;
        std::vector<Kept> rows;
    };
    std::vector<Rows> lists;
    for (std::size_t row = 0; row < rows; ++row) {
        const auto item = [row](const nb::handle& list) { return PyList_GET_ITEM(list.ptr(), static_cast<Py_ssize_t>(row)); };
        std::int32_t name = 0;
        if (!names.is_none()) {
            const auto [found, fresh] = name_number.try_emplace(std::string(text.of(item(names))),
                                                                static_cast<std::int32_t>(builder.table.names.size()));
            if (fresh) builder.name(found->first);
            name = found->second;
        }
        const std::string_view topic_id = text.of(item(topics)), id = text.of(item(docs));
        check_id(topic_id, "topic");
        check_id(id, "document");
        const std::int32_t topic = builder.topic(topic_id);
        const std::uint64_t key = (static_cast<std::uint64_t>(name) << 32) | static_cast<std::uint32_t>(topic);
        const auto [list, fresh] = list_number.try_emplace(key, lists.size());
        if (fresh) lists.push_back({name, topic, {}});
        lists[list->second].rows.push_back({id, to_double(item(values), topic_id, id, what),
                                            ranks.is_none() ? 0.0 : to_double(item(ranks), topic_id, id, "rank"),
                                            labels.is_none() ? 0 : builder.label(text.of(item(labels))), row});
    }
    const OnDuplicate rule = make_rule(on_duplicate);
    IdTable seen;
    std::vector<Repeat> repeats;
    for (Rows& list : lists) {
        settle_duplicates(list.rows, rule, true, seen, repeats, builder.table.dropped);
        if (!repeats.empty())
            throw nb::value_error(("row " + std::to_string(repeats[0].again.place + 1) + ": document " + quoted(repeats[0].again.id) +
                                   " is there twice for topic " +
                                   quoted(builder.table.topics[static_cast<std::size_t>(list.topic)]) + ", first in row " +
                                   std::to_string(repeats[0].first.place + 1)).c_str());
        for (const Kept& entry : list.rows) {
            builder.add(entry.id, entry.value);
            if (!ranks.is_none()) builder.table.rank.push_back(entry.rank);
            if (!labels.is_none()) builder.table.label.push_back(entry.label);
        }
        builder.end_list(list.name, list.topic);
    }
    return builder.finish();
}

nb::list table_docs(const Table& table, std::size_t begin, std::size_t end) {
    nb::list out;
    for (std::size_t i = begin; i < std::min(end, table.size()); ++i) out.append(to_str(table.id(i)));
    return out;
}

Table table_take(const Table& table, const nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig>& rows,
                 const std::string& name) {
    return take_rows(table, rows.data(), rows.size(), name);
}

// The documents of one list, best first: positions in the table, and for each the first and last rank its tie spans.
nb::tuple table_order(const Table& table, std::size_t list, const std::string& order, bool single_precision) {
    if (list >= table.lists()) throw nb::index_error("no such list");
    JoinOptions options;
    options.order = make_order(order);
    options.single_precision = single_precision;
    Ranker ranker(options);
    const auto begin = static_cast<std::size_t>(table.list_start[list]);
    const auto end = static_cast<std::size_t>(table.list_start[list + 1]);
    std::unordered_map<std::uint64_t, std::int64_t> position;
    for (std::size_t i = begin; i < end; ++i) {
        const double key = options.order == Order::rank && !table.rank.empty() ? -table.rank[i] : table.value[i];
        ranker.documents.push_back({key, table.doc[i], 0.0});
        position.emplace(table.doc[i].packed, static_cast<std::int64_t>(i));
    }
    ranker.rank_only(table.arena.data());
    std::vector<std::int64_t> positions;
    std::vector<double> keys;
    for (const auto& document : ranker.documents) {
        positions.push_back(position.at(document.doc.packed));
        keys.push_back(document.key);
    }
    return nb::make_tuple(to_numpy(std::move(positions)), to_numpy(std::move(keys)));
}

}  // namespace
}  // namespace cranfield
