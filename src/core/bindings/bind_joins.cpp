// Joins of tables, files and dicts with judgments.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/convert.hpp"
#include "bindings/unlock.hpp"
#include "join_files.hpp"
#include "join_runs.hpp"

namespace cranfield {
namespace {

// A dict with the keys of `Joined` in the stub file.
class JoinedDict : public nb::dict {
    NB_OBJECT(JoinedDict, nb::dict, "Joined", PyDict_Check)
    JoinedDict() : nb::dict() {}
};

JoinedDict to_python(Joined joined) {
    nb::list unjudged_topics;
    for (const auto& topics : joined.unjudged) unjudged_topics.append(to_strs(topics));
    JoinedDict out;
    out["names"] = to_strs(joined.names);
    out["sources"] = joined.sources;
    nb::list tags;
    for (const auto& names : joined.tags) tags.append(to_strs(names));
    out["tags"] = tags;
    out["several"] = to_numpy(std::move(joined.several));
    out["rising"] = to_numpy(std::move(joined.rising));
    out["level"] = to_numpy(std::move(joined.level));
    out["retrieved"] = to_numpy(std::move(joined.retrieved));
    out["missing"] = to_numpy(std::move(joined.missing));
    out["unjudged_topics"] = unjudged_topics;
    out["row"] = to_numpy(std::move(joined.row));
    out["rank"] = to_numpy(std::move(joined.rank));
    out["tie_first"] = to_numpy(std::move(joined.tie_first));
    out["tie_last"] = to_numpy(std::move(joined.tie_last));
    out["document"] = to_numpy(std::move(joined.document));
    out["dropped"] = joined.dropped;
    out["documents"] = joined.documents;
    out["numbers"] = to_numpy(std::move(joined.numbers));
    out["unknown"] = to_strs(joined.unknown);
    out["scores"] = to_numpy(std::move(joined.scores));
    return out;
}

JoinOptions join_options(const std::string& order, bool single_precision, const std::string& on_duplicate, std::size_t depth,
                         const Judged* numbers, bool scores, const std::string& ties) {
    JoinOptions options;
    options.order = make_order(order);
    options.ties = make_ties(ties);
    options.single_precision = single_precision;
    options.on_duplicate = make_rule(on_duplicate);
    options.depth = depth;
    options.scores = scores;
    if (numbers) {
        if (numbers->topics.size() != 1) throw nb::value_error("numbers: expected the documents of one topic");
        options.documents = &numbers->index;
    }
    return options;
}

JoinedDict join_tables_in_memory(const Judged& judged, const nb::typed<nb::list, Table>& runs, const std::string& order,
                                 bool single_precision, std::size_t depth, unsigned threads, const Judged* numbers, bool scores,
                                 const std::string& ties) {
    const JoinOptions options = join_options(order, single_precision, "error", depth, numbers, scores, ties);
    std::vector<const Table*> tables;
    for (const nb::handle run : runs) tables.push_back(&nb::cast<const Table&>(run));
    std::optional<Joined> joined;
    {
        const Unlocked unlocked;
        joined = join_tables(judged, tables, options, threads);
    }
    return to_python(*std::move(joined));
}

std::tuple<std::optional<JoinedDict>, Faults> join_files(const Judged& judged, const Objects& sources,
                                                         const Strings& columns, const std::string& delimiter,
                                                         bool header, const nb::str& expected, const std::string& order,
                                                         bool single_precision, const std::string& on_duplicate,
                                                         std::size_t depth, unsigned threads, const std::optional<Progress>& progress,
                                                         const Judged* numbers, bool scores, bool split_tags, std::size_t chunk,
                                                         std::size_t window, std::size_t scattered, std::size_t most, const std::string& ties) {
    const Sources opened(sources);
    ReadOptions reading;
    reading.layout = make_layout(columns, delimiter, header, expected);
    reading.threads = threads;
    if (chunk > 0) reading.chunk_bytes = chunk;
    const JoinOptions options = join_options(order, single_precision, on_duplicate, depth, numbers, scores, ties);
    reading.order = options.order;
    JoinMemory memory;
    memory.window = window;
    if (scattered > 0) memory.scattered = scattered;
    memory.most = most;
    std::size_t length = 0;
    for (const auto& feed : opened.feeds) length += feed->length();
    const nb::object callback = progress ? nb::object(*progress) : nb::none();
    FileJoin files(judged, options, reading, memory, split_tags, make_watch(callback, length), make_watch());
    {
        const Unlocked unlocked;
        files.add_all(opened.feeds);
    }
    if (PyErr_Occurred()) throw nb::python_error();
    if (files.faults.empty()) return {to_python(std::move(files.joined)), oddity_list(files.odd)};
    Faults faults;
    faults.append(nb::make_tuple(files.faults[0].source, files.lines[0], to_str(files.faults[0].what)));
    return {std::nullopt, faults};
}

using AnyDict = nb::typed<nb::dict, nb::any, nb::any>;

// Fetches what the address holds into the cache, if the compiler knows how.
inline void fetch_soon(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address);
    __builtin_prefetch(static_cast<const char*>(address) + 48);  // about where the text of a str is
#else
    (void)address;
#endif
}

// Hands the documents of a list to the ranker if all of them are plain: str of ASCII, and float or int. False if not; then the
// ranker has only some of them. The objects are all over the memory, so that waiting for them takes most of the time: they
// are fetched some steps ahead.
class PlainDocuments {
public:
    bool read(PyObject* documents, Ranker& ranker) {
        constexpr std::size_t kAhead = 12;
        items_.clear();
        Py_ssize_t place = 0;
        Item item{};
        while (PyDict_Next(documents, &place, &item.doc, &item.value)) items_.push_back(item);
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (i + kAhead < items_.size()) {
                fetch_soon(items_[i + kAhead].doc);
                fetch_soon(items_[i + kAhead].value);
            }
            const auto [doc, value] = items_[i];
            double score = 0;
            if (PyFloat_CheckExact(value)) {
                score = PyFloat_AS_DOUBLE(value);
            } else if (PyLong_CheckExact(value)) {
                score = PyLong_AsDouble(value);
                if (score == -1.0 && PyErr_Occurred()) PyErr_Clear(), score = std::nan("");
            } else {
                return false;
            }
            if (std::isnan(score) || !PyUnicode_CheckExact(doc) || !PyUnicode_IS_COMPACT_ASCII(doc)) return false;
            const auto length = static_cast<std::size_t>(PyUnicode_GET_LENGTH(doc));
            if (length == 0 || length > kLongestId) return false;
            ranker.documents.push_back({score, Id::at(nullptr, {static_cast<const char*>(PyUnicode_DATA(doc)), length})});
        }
        return true;
    }

private:
    struct Item {
        PyObject *doc, *value;
    };
    std::vector<Item> items_;
};

// Hands the documents of a list to the ranker. Returns whether all are str: then no document appears twice, but 7 and "7" are
// the same document.
bool read_any(PyObject* documents, std::string_view topic, Text& text, Ranker& ranker) {
    Py_ssize_t place = 0;
    bool strings = true;
    PyObject *doc = nullptr, *value = nullptr;
    while (PyDict_Next(documents, &place, &doc, &value)) {
        const std::string_view id = text.of(doc);
        strings &= PyUnicode_CheckExact(doc);
        check_id(id, "document");
        ranker.documents.push_back({to_double(value, topic, id, "score"), Id::at(nullptr, id)});
    }
    return strings;
}

// The strings are read where Python keeps them.
JoinedDict join_dicts(const Judged& judged, const nb::typed<nb::list, std::pair<nb::str, AnyDict>>& runs, const std::string& order,
                      bool single_precision, std::size_t depth, const Judged* numbers, bool scores, const std::string& ties) {
    const JoinOptions options = join_options(order, single_precision, "error", depth, numbers, scores, ties);
    if (options.order == Order::rank) throw nb::value_error("order == 'rank', but a dict has no ranks; use 'score' or 'file'");
    Joined joined(judged.topics.size());
    Ranker ranker(options);
    PlainDocuments plain;
    for (std::size_t r = 0; r < runs.size(); ++r) {
        const auto [name, lists] = nb::cast<std::pair<nb::str, nb::dict>>(runs[r]);
        Text name_text;
        joined.add_run(std::string(name_text.of(name.ptr())), static_cast<std::int32_t>(r));
        const nb::object topics = safe_to_iterate(lists.ptr());
        std::vector<Joined::Part> parts;
        Py_ssize_t at = 0;
        PyObject *topic_key = nullptr, *documents = nullptr;
        while (PyDict_Next(topics.ptr(), &at, &topic_key, &documents)) {
            Text text;
            const std::string_view topic_name = text.of(topic_key);
            check_id(topic_name, "topic");
            if (!PyDict_Check(documents))
                throw nb::type_error(("topic " + quoted(topic_name) + ": expected a dict of documents and scores").c_str());
            const std::int32_t topic = judged.index.topic(topic_name);
            joined.documents += static_cast<std::size_t>(PyDict_GET_SIZE(documents));
            if (topic < 0) {
                joined.unjudged[r].emplace_back(topic_name);
                continue;
            }
            ranker.documents.clear();
            ranker.documents.reserve(static_cast<std::size_t>(PyDict_GET_SIZE(documents)));
            nb::object safe_documents;
            bool strings = plain.read(documents, ranker);
            if (!strings) {
                ranker.documents.clear();
                safe_documents = safe_to_iterate(documents);
                strings = read_any(safe_documents.ptr(), topic_name, text, ranker);
            }
            ranker.set_unique(strings);
            ranker.run(nullptr, judged.index, topic);
            if (ranker.has_duplicate)
                throw nb::value_error(("topic " + quoted(topic_name) + ": document " + quoted(ranker.duplicate.again.in(nullptr)) +
                                       " appears twice, as different Python objects").c_str());
            const std::size_t row = r * judged.topics.size() + static_cast<std::size_t>(topic);
            if (!joined.missing[row])
                throw nb::value_error(("topic " + quoted(topic_name) + " appears twice, as different Python objects").c_str());
            joined.retrieved[row] = static_cast<std::int32_t>(ranker.retrieved);
            joined.missing[row] = 0;
            parts.emplace_back(row, ranker, nullptr);
            if ((parts.size() & 255) == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        joined.add(std::move(parts));
    }
    return to_python(std::move(joined));
}

// One run, given row by row as (topic, document, score), in any order. Takes only str and plain numbers, because no Python code
// may run while it keeps pointers into the strings.
class RowJoin {
public:
    RowJoin(const Judged& judged, const JoinOptions& options) : judged_(judged), ranker_(options), lists_(judged.topics.size()) {}

    // Whether the row could be read.
    bool add(PyObject* topic, PyObject* doc, double score) {
        if (topic != last_topic_) {
            std::string_view name;
            if (!text_of(topic, name)) return false;
            last_topic_ = topic;
            number_ = judged_.index.topic(name);
            if (number_ >= 0 && lists_[static_cast<std::size_t>(number_)].empty()) topics.push_back(number_);
        }
        std::string_view id;
        if (!text_of(doc, id) || std::isnan(score)) return false;
        if (number_ >= 0) lists_[static_cast<std::size_t>(number_)].push_back({score, Id::at(nullptr, id)});
        return true;
    }
    // Ranks the lists. False: a document appears twice.
    bool finish(Joined& joined) {
        joined.add_run("run", 0);
        std::vector<Joined::Part> parts;
        for (const std::int32_t topic : topics) {
            const auto row = static_cast<std::size_t>(topic);
            ranker_.documents.swap(lists_[row]);
            ranker_.set_unique(false);
            ranker_.run(nullptr, judged_.index, topic);
            if (ranker_.has_duplicate) return false;
            joined.retrieved[row] = static_cast<std::int32_t>(ranker_.retrieved);
            joined.missing[row] = 0;
            parts.emplace_back(row, ranker_, nullptr);
            ranker_.documents.clear();
        }
        joined.add(std::move(parts));
        return true;
    }

    std::vector<std::int32_t> topics;  // the judged topics of the run, in order of appearance

private:
    static bool text_of(PyObject* object, std::string_view& text) {
        if (!PyUnicode_CheckExact(object)) return false;
        Py_ssize_t size = 0;
        const char* bytes = PyUnicode_AsUTF8AndSize(object, &size);
        if (!bytes) PyErr_Clear();
        if (!bytes || size == 0 || static_cast<std::size_t>(size) > kLongestId) return false;
        text = {bytes, static_cast<std::size_t>(size)};
        return true;
    }

    const Judged& judged_;
    Ranker ranker_;
    std::vector<std::vector<Ranker::Document>> lists_;
    PyObject* last_topic_ = nullptr;
    std::int32_t number_ = -1;
};

// The hits and the judged topics of the run; nothing if a row is not text, text and a number, or a document appears twice.
using JoinedRows = std::optional<std::tuple<JoinedDict, Vector1<std::int32_t>>>;

JoinedRows finished(RowJoin& rows, const Judged& judged) {
    Joined joined(judged.topics.size());
    if (!rows.finish(joined)) return std::nullopt;
    return std::tuple{to_python(std::move(joined)), to_numpy(std::move(rows.topics))};
}

JoinedRows join_tuples(const Judged& judged, const Objects& tuples, std::size_t topic, std::size_t doc, std::size_t score,
                       bool single_precision, bool keep_scores, const std::string& ties) {
    RowJoin rows(judged, join_options("score", single_precision, "error", 0, nullptr, keep_scores, ties));
    const auto fields = static_cast<Py_ssize_t>(std::max({topic, doc, score})) + 1;
    for (const nb::handle row : tuples) {
        PyObject* const tuple = row.ptr();
        if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) < fields) return std::nullopt;
        PyObject* const value = PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(score));
        double number = 0;
        if (PyFloat_Check(value)) {
            number = PyFloat_AS_DOUBLE(value);
        } else if (PyLong_CheckExact(value)) {
            number = PyLong_AsDouble(value);
            if (number == -1.0 && PyErr_Occurred()) {
                PyErr_Clear();
                return std::nullopt;
            }
        } else {
            return std::nullopt;
        }
        if (!rows.add(PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(topic)), PyTuple_GET_ITEM(tuple, static_cast<Py_ssize_t>(doc)), number))
            return std::nullopt;
    }
    return finished(rows, judged);
}

JoinedRows join_columns(const Judged& judged, const Objects& topics, const Objects& docs, const Column<double>& scores,
                        bool single_precision, bool keep_scores, const std::string& ties) {
    if (topics.size() != scores.size() || docs.size() != scores.size()) return std::nullopt;
    RowJoin rows(judged, join_options("score", single_precision, "error", 0, nullptr, keep_scores, ties));
    const std::span<const double> values = span_of(scores);
    for (std::size_t row = 0; row < values.size(); ++row)
        if (!rows.add(PyList_GET_ITEM(topics.ptr(), static_cast<Py_ssize_t>(row)),
                      PyList_GET_ITEM(docs.ptr(), static_cast<Py_ssize_t>(row)), values[row]))
            return std::nullopt;
    return finished(rows, judged);
}

Vector1<double> grade_of(const Judged& judged, const Column<std::int32_t>& documents) {
    const NumberColumn& grades = judged.grades();
    LongColumn<double> found;
    found.reserve(documents.size());
    for (const std::int32_t document : span_of(documents)) {
        if (document < 0 || static_cast<std::size_t>(document) >= grades.size()) throw nb::index_error("no such document is judged");
        found.push_back(grades[static_cast<std::size_t>(document)]);
    }
    return to_numpy(std::move(found));
}

std::unique_ptr<Judged> judged(nb::pointer_and_handle<Table> table, const std::string& on_duplicate) {
    std::unique_ptr<Judged> prepared = make_judged(*table.p, make_rule(on_duplicate));
    prepared->table = kept(table.h);
    return prepared;
}

std::tuple<Vector1<double>, Vector1<std::int32_t>> grade_counts(const Judged& judged) {
    GradeCounts counts = unlocked([&] { return count_grades(judged); });
    return {to_numpy(std::move(counts.levels)), to_numpy(std::move(counts.documents))};
}

}  // namespace

void bind_joins(nb::module_& m) {
    nb::class_<Judged>(m, "Judged", "Judgments ready for joins: the documents of each topic in a hash table.")
        .def_prop_ro("topics", [](const Judged& j) { return to_strs(j.topics); }, "The judged topics.")
        .def_prop_ro("start", [](const Judged& j) { return view_of(j.start); }, "Where the documents of each topic begin, and where the last ones end.")
        .def_prop_ro("grade", [](nb::pointer_and_handle<Judged> j) { return numbers_of(j.p->grades(), j.h); }, nb::rv_policy::automatic,
                     "For each document, its grade.")
        .def_prop_ro("levels", [](const Judged& j) { return view_of(j.grades().levels()); },
                     "The different grades of many judgments, if there are few: a grade is then kept as its place here. Else empty.")
        .def("grade_of", &grade_of, "documents"_a, "Return the grades of some documents, given by their numbers.")
        .def("best_first", [](const Judged& j) { return to_numpy(unlocked([&] { return best_first(j); })); },
             "Return the grades, topic after topic, best first.")
        .def("grade_counts", &grade_counts,
             "Return `levels`, best first, and how many documents have each: topic after topic, as many numbers as levels.")
        .def_prop_ro("dropped", [](const Judged& j) { return j.dropped; }, "The number of duplicate judgments that were dropped.");

    m.def("judged", &judged, "table"_a, "on_duplicate"_a, "Prepare judgments for joins. Labels are ignored: one grade per topic and document.");
    m.def("join_files", &join_files, "judged"_a, "sources"_a, "columns"_a, "delimiter"_a, "header"_a, "expected"_a, "order"_a,
          "single_precision"_a, "on_duplicate"_a, "depth"_a, "threads"_a, "progress"_a.none(), "numbers"_a = nb::none(),
          "scores"_a = false, "split_tags"_a = false, "chunk"_a = 0, "window"_a = 0, "scattered"_a = 0, "most"_a = 0, "ties"_a = "z-a",
          "Join run files with judgments. A file is a buffer, or an object with `read()`, which returns the next block,\n"
          "`rewind()`, `position` and `length`. Return hits and notes on odd numbers, or None and faults; a fault on line 0\n"
          "is about the whole file. In bytes: `chunk` is what a thread reads at a time, `window` what is in memory at a time,\n"
          "`scattered` the memory for lists whose lines are not together, `most` the memory for all that is kept.\n"
          "0: the default; for `most`, no limit.");
    m.def("join_tables", &join_tables_in_memory, "judged"_a, "tables"_a, "order"_a, "single_precision"_a, "depth"_a, "threads"_a = 1,
          "numbers"_a = nb::none(), "scores"_a = false, "ties"_a = "z-a", "Join runs in memory with judgments.");
    m.def("join_dicts", &join_dicts, "judged"_a, "runs"_a, "order"_a, "single_precision"_a, "depth"_a, "numbers"_a = nb::none(),
          "scores"_a = false, "ties"_a = "z-a", "Join runs, given as (name, dict topic -> document -> score), with judgments.");
    m.def("join_tuples", &join_tuples, "judged"_a, "tuples"_a, "topic"_a, "doc"_a, "score"_a, "single_precision"_a,
          "keep_scores"_a = false, "ties"_a = "z-a",
          "Join one run, given as tuples. Return the hits and the judged topics; None if a row is unusual.");
    m.def("join_columns", &join_columns, "judged"_a, "topics"_a, "docs"_a, "scores"_a, "single_precision"_a,
          "keep_scores"_a = false, "ties"_a = "z-a",
          "Join one run, given as columns. Return the hits and the judged topics; None if a row is unusual.");
}

}  // namespace cranfield
