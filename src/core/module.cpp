// What Python sees of the core: Table (run or qrels in memory), Judged (qrels ready to join) and the joins.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <unordered_set>

#include "join.hpp"
#include "reader.hpp"
#include "table.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cranfield {
namespace {

// ---- between Python and C++

template <typename T>
using Vector1 = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T>
Vector1<T> to_numpy(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Vector1<T>(kept->data(), {kept->size()}, owner);
}

// A read-only look at a column; Python keeps the column's owner alive.
template <typename T>
nb::ndarray<nb::numpy, const T, nb::ndim<1>> look(const std::vector<T>& values) {
    static const T nothing{};
    return {values.empty() ? &nothing : values.data(), {values.size()}, nb::handle()};
}

nb::object to_str(std::string_view bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape"));
}

nb::list to_strs(const std::vector<std::string>& texts) {
    nb::list out;
    for (const std::string& text : texts) out.append(to_str(text));
    return out;
}

// The bytes of a str, of bytes or of an integer; what has to be made for it lives as long as this object.
class Text {
public:
    std::string_view of(PyObject* object) {
        if (PyUnicode_CheckExact(object) && PyUnicode_IS_COMPACT_ASCII(object))
            return {static_cast<const char*>(PyUnicode_DATA(object)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(object))};
        if (PyUnicode_Check(object)) {
            Py_ssize_t size = 0;
            if (const char* utf8 = PyUnicode_AsUTF8AndSize(object, &size)) return {utf8, static_cast<std::size_t>(size)};
            PyErr_Clear();
            kept_.push_back(nb::steal(PyUnicode_AsEncodedString(object, "utf-8", "surrogateescape")));
            if (!kept_.back().is_valid()) throw nb::python_error();
            return bytes(kept_.back().ptr());
        }
        if (PyBytes_Check(object)) return bytes(object);
        if (!PyIndex_Check(object) || PyBool_Check(object)) {
            const nb::object shown = nb::steal(PyObject_Repr(object));
            if (!shown.is_valid()) throw nb::python_error();
            throw nb::value_error(("an id is " + std::string(of(shown.ptr()).substr(0, 80)) + ", expected text or an integer").c_str());
        }
        kept_.push_back(nb::steal(PyObject_Str(object)));
        if (!kept_.back().is_valid()) throw nb::python_error();
        return of(kept_.back().ptr());
    }

private:
    static std::string_view bytes(PyObject* object) {
        return {PyBytes_AS_STRING(object), static_cast<std::size_t>(PyBytes_GET_SIZE(object))};
    }
    std::vector<nb::object> kept_;
};

double to_double(PyObject* object, std::string_view topic, std::string_view doc, const char* what) {
    const double value = PyFloat_CheckExact(object) ? PyFloat_AS_DOUBLE(object) : PyFloat_AsDouble(object);
    if (std::isnan(value) || PyBool_Check(object) || (value == -1.0 && PyErr_Occurred())) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) throw nb::python_error();  // Ctrl-C
        PyErr_Clear();
        const nb::object shown = nb::steal(PyObject_Repr(object));
        Text text;
        const std::string value_text = shown.is_valid() ? std::string(text.of(shown.ptr())) : "?";
        PyErr_Clear();
        throw nb::value_error(("topic " + quoted(topic) + ", document " + quoted(doc) + ": the " + what + " is " +
                               value_text.substr(0, 80) + ", expected a number").c_str());
    }
    return value;
}

// A dict to walk: itself if all it holds is str and plain numbers, else a copy. Other keys and values run Python code when
// they are converted, and that code may change the dict.
nb::object steady(PyObject* dict) {
    Py_ssize_t at = 0;
    PyObject *key = nullptr, *value = nullptr;
    while (PyDict_Next(dict, &at, &key, &value)) {
        if (PyUnicode_CheckExact(key) && (PyFloat_CheckExact(value) || PyLong_CheckExact(value))) continue;
        nb::object copy = nb::steal(PyDict_Copy(dict));
        if (!copy.is_valid()) throw nb::python_error();
        return copy;
    }
    return nb::borrow(dict);
}

void check_id(std::string_view id, const char* what) {
    if (id.empty()) throw nb::value_error((std::string("an empty ") + what + " id").c_str());
    if (id.size() > kLongestId)
        throw nb::value_error((std::string("a ") + what + " id of " + std::to_string(id.size()) + " bytes, at most " +
                               std::to_string(kLongestId) + " are taken").c_str());
}

// Buffers held open while C++ reads them.
class Buffers {
public:
    explicit Buffers(const std::vector<nb::object>& objects) {
        views_.reserve(objects.size());
        for (const nb::object& object : objects) {
            views_.emplace_back();
            if (PyObject_GetBuffer(object.ptr(), &views_.back(), PyBUF_SIMPLE) != 0) {
                views_.pop_back();
                release();
                throw nb::python_error();
            }
            sources.push_back({static_cast<const char*>(views_.back().buf), static_cast<std::size_t>(views_.back().len)});
        }
    }
    ~Buffers() { release(); }
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;

    std::vector<Source> sources;

private:
    void release() {
        for (Py_buffer& view : views_) PyBuffer_Release(&view);
        views_.clear();
    }
    std::vector<Py_buffer> views_;
};

Layout make_layout(const std::vector<std::string>& columns, const std::string& delimiter, bool header,
                   const std::string& expected) {
    static const std::unordered_map<std::string, Role> kRoles = {
        {"skip", Role::skip}, {"topic", Role::topic}, {"label", Role::label}, {"doc", Role::doc},
        {"rank", Role::rank}, {"value", Role::value}, {"name", Role::name}};
    Layout layout;
    for (const std::string& column : columns) {
        const auto role = kRoles.find(column);
        if (role == kRoles.end()) throw nb::value_error(("unknown column role '" + column + "'").c_str());
        layout.roles.push_back(role->second);
    }
    layout.index_roles();
    if (layout.topic < 0 || layout.doc < 0 || (layout.value < 0 && layout.rank < 0) || columns.size() > kMostColumns)
        throw nb::value_error("a layout needs topic, doc, and value or rank, in at most 16 columns");
    if (delimiter.size() != 1) throw nb::value_error("the delimiter must be one character");
    layout.delimiter = delimiter[0];
    layout.header = header;
    layout.expected = expected;
    return layout;
}

Order make_order(const std::string& order) {
    if (order == "score") return Order::score;
    if (order == "rank") return Order::rank;
    if (order == "file") return Order::file;
    throw nb::value_error(("order == '" + order + "', must be 'score', 'rank' or 'file'").c_str());
}

OnDuplicate make_rule(const std::string& rule) {
    if (rule == "error") return OnDuplicate::error;
    if (rule == "first") return OnDuplicate::first;
    if (rule == "max") return OnDuplicate::max;
    throw nb::value_error(("on_duplicate == '" + rule + "', must be 'error', 'first' or 'max'").c_str());
}

// Lets Ctrl-C through and shows progress while threads work without the GIL.
Watch make_watch(const nb::object& progress, std::size_t pieces) {
    return [progress, pieces](std::size_t done) {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) return false;
        try {
            if (!progress.is_none()) progress(done, pieces);
        } catch (nb::python_error& error) {  // threads are at work: let them end before it goes on its way
            error.restore();
            return false;
        }
        return true;
    };
}

using FaultTuple = std::tuple<std::size_t, std::size_t, std::string>;

// (source, line, what) of each fault.
nb::list fault_list(const std::vector<Fault>& faults, const std::vector<Source>& sources) {
    nb::list out;
    LineIndexes lines(sources);
    for (const Fault& fault : faults)
        out.append(nb::make_tuple(fault.source, lines.line(fault.source, fault.offset), to_str(fault.what)));
    return out;
}

// ---- tables

nb::tuple py_read(const std::vector<nb::object>& sources, const std::vector<std::string>& columns,
                  const std::string& delimiter, bool header, const std::string& expected, bool qrels,
                  const std::string& on_duplicate, unsigned threads, std::size_t most_faults, bool keep_lines) {
    const Buffers buffers(sources);
    ReadOptions options;
    options.layout = make_layout(columns, delimiter, header, expected);
    options.threads = threads;
    options.most_faults = most_faults;
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

// ---- judgments ready to join

struct Judged {
    std::vector<std::string> topics;
    std::vector<char> arena;
    std::vector<std::int64_t> start{0};
    std::vector<double> grade;
    JudgedIndex index{nullptr};
    std::size_t dropped = 0;
};

// Labels are not looked at: a document judged under two labels (intents) is a duplicate here.
std::unique_ptr<Judged> make_judged(const Table& table, const std::string& on_duplicate) {
    const OnDuplicate rule = make_rule(on_duplicate);
    auto judged = std::make_unique<Judged>();
    judged->topics = table.topics;
    judged->arena = table.arena;
    judged->index = JudgedIndex(judged->arena.data());
    IdTable seen;
    std::vector<Repeat> repeats;
    std::vector<Kept> list;
    std::vector<JudgedIndex::Document> documents;
    for (std::size_t l = 0; l < table.lists(); ++l) {
        const std::string& topic = table.topics[static_cast<std::size_t>(table.list_topic[l])];
        list.clear();
        for (auto i = static_cast<std::size_t>(table.list_start[l]); i < static_cast<std::size_t>(table.list_start[l + 1]); ++i)
            list.push_back({table.id(i), table.value[i], 0.0, 0, i});
        settle_duplicates(list, rule, false, seen, repeats, judged->dropped);
        if (!repeats.empty()) {
            const Repeat& repeat = repeats[0];
            const auto label = [&](std::size_t i) {
                return table.label.empty() ? std::string("") : table.labels[static_cast<std::size_t>(table.label[i])];
            };
            throw nb::value_error(("topic " + quoted(topic) + ": document " + quoted(repeat.again.id) +
                                   " is judged twice, for intents (or iterations) " + quoted(label(repeat.first.place)) +
                                   " and " + quoted(label(repeat.again.place))).c_str());
        }
        documents.clear();
        for (const Kept& entry : list) {
            documents.push_back({Id::at(table.arena.data(), entry.id), entry.value});
            judged->grade.push_back(entry.value);
        }
        judged->start.push_back(static_cast<std::int64_t>(judged->grade.size()));
        judged->index.add_topic(topic, documents);
    }
    return judged;
}

// ---- joins

// What a join leaves: a grid of lists (run × judged topic) and their hits, sorted by list and rank.
struct Joined {
    explicit Joined(std::size_t topics) : topics_(topics) {}

    struct Part {
        std::size_t row;
        std::vector<Hit> hits;
        std::vector<std::int32_t> numbers;
        std::vector<std::string> unknown;
    };

    // What the ranker has found of one list.
    static Part part(std::size_t row, const Ranker& ranker, const char* base) {
        Part out{row, ranker.hits, ranker.numbers, {}};
        for (const Id& id : ranker.unknown) out.unknown.emplace_back(id.in(base));
        return out;
    }

    std::vector<std::string> names;
    std::vector<std::int32_t> sources;
    std::vector<std::int32_t> retrieved;
    std::vector<std::uint8_t> missing;
    std::vector<std::vector<std::string>> unjudged;  // topics of each run that have no judgments
    std::vector<Part> parts;                         // in any order
    std::size_t dropped = 0;
    std::size_t documents = 0;

    void add_run(std::string name, std::int32_t source) {
        names.push_back(std::move(name));
        sources.push_back(source);
        retrieved.resize(names.size() * topics_, 0);
        missing.resize(names.size() * topics_, 1);
        unjudged.emplace_back();
    }

    nb::dict to_python() {
        std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.row < b.row; });
        std::size_t total = 0;
        for (const Part& part : parts) total += part.hits.size();
        std::vector<std::int32_t> row, rank, tie_first, tie_last;
        std::vector<double> grade;
        std::vector<std::int32_t> numbers;
        std::unordered_set<std::string> seen;
        nb::list unknown;
        row.reserve(total), rank.reserve(total), tie_first.reserve(total), tie_last.reserve(total), grade.reserve(total);
        for (const Part& part : parts) {
            for (const Hit& hit : part.hits) {
                row.push_back(static_cast<std::int32_t>(part.row));
                rank.push_back(hit.rank);
                tie_first.push_back(hit.tie_first);
                tie_last.push_back(hit.tie_last);
                grade.push_back(hit.grade);
            }
            numbers.insert(numbers.end(), part.numbers.begin(), part.numbers.end());
            for (const std::string& id : part.unknown)
                if (seen.insert(id).second) unknown.append(to_str(id));
        }
        nb::list unjudged_topics;
        for (const auto& some : unjudged) unjudged_topics.append(to_strs(some));
        nb::dict out;
        out["names"] = to_strs(names);
        out["sources"] = sources;
        out["retrieved"] = to_numpy(std::move(retrieved));
        out["missing"] = to_numpy(std::move(missing));
        out["unjudged_topics"] = unjudged_topics;
        out["row"] = to_numpy(std::move(row));
        out["rank"] = to_numpy(std::move(rank));
        out["tie_first"] = to_numpy(std::move(tie_first));
        out["tie_last"] = to_numpy(std::move(tie_last));
        out["grade"] = to_numpy(std::move(grade));
        out["dropped"] = dropped;
        out["documents"] = documents;
        out["numbers"] = to_numpy(std::move(numbers));
        out["unknown"] = unknown;
        return out;
    }

private:
    std::size_t topics_;
};

JoinOptions join_options(const std::string& order, bool single_precision, const std::string& on_duplicate, std::size_t depth,
                         const Judged* numbers) {
    JoinOptions options;
    options.order = make_order(order);
    options.single_precision = single_precision;
    options.on_duplicate = make_rule(on_duplicate);
    options.depth = depth;
    if (numbers) {
        if (numbers->topics.size() != 1) throw nb::value_error("numbers: expected the documents of one topic");
        options.documents = &numbers->index;
    }
    return options;
}

// Files straight into hits. Returns (joined dict or None, faults).
nb::tuple py_join_files(const Judged& judged, const std::vector<nb::object>& sources,
                        const std::vector<std::string>& columns, const std::string& delimiter, bool header,
                        const std::string& expected, const std::string& order, bool single_precision,
                        const std::string& on_duplicate, std::size_t depth, unsigned threads, const nb::object& progress,
                        const Judged* numbers) {
    const Buffers buffers(sources);
    ReadOptions options;
    options.layout = make_layout(columns, delimiter, header, expected);
    options.threads = threads;
    const JoinOptions join = join_options(order, single_precision, on_duplicate, depth, numbers);
    options.order = join.order;
    std::size_t bytes = 0;
    for (const Source& source : buffers.sources) bytes += source.size();
    options.watch = make_watch(progress, bytes / (4 << 20) + 1);
    Joined joined(judged.topics.size());
    std::vector<Fault> faults;
    {
        const nb::gil_scoped_release release;
        const Lines lines = read_lines(buffers.sources, options);
        faults = collect_faults(lines.chunks, 1);
        Lists grouped;
        if (faults.empty() && !lines.stopped) {
            grouped = group(lines.chunks, buffers.sources.size(), true);
            faults = grouped.faults;
        }
        if (faults.empty() && !lines.stopped) {
            for (const auto& [source, name] : grouped.runs) joined.add_run(name, static_cast<std::int32_t>(source));
            std::vector<std::int32_t> topic_number;
            for (const std::string& topic : grouped.topics) topic_number.push_back(judged.index.topic(topic));

            constexpr std::size_t kListsAtOnce = 16;
            const std::size_t pieces = (grouped.lists.size() + kListsAtOnce - 1) / kListsAtOnce;
            joined.parts.resize(grouped.lists.size());
            std::vector<Fault> list_fault(grouped.lists.size());
            std::vector<std::size_t> first_place(grouped.lists.size(), 0);  // of a document that is there twice
            std::vector<std::size_t> dropped(grouped.lists.size(), 0);
            std::vector<Ranker> rankers(std::clamp<std::size_t>(pieces, 1, std::max(1u, threads)), Ranker(join));
            const Watch quiet = make_watch(nb::none(), 0);
            parallel_for(pieces, threads, quiet, [&](std::size_t piece, unsigned thread) {
                Ranker& ranker = rankers[thread];
                const std::size_t end = std::min(grouped.lists.size(), (piece + 1) * kListsAtOnce);
                for (std::size_t l = piece * kListsAtOnce; l < end; ++l) {
                    const List& list = grouped.lists[l];
                    const std::int32_t topic = topic_number[static_cast<std::size_t>(list.topic)];
                    ranker.documents.clear();
                    ranker.documents.reserve(list.size);
                    std::size_t source = 0;
                    for (const auto& [c, b] : list.blocks) {
                        const Chunk& chunk = lines.chunks[c];
                        source = chunk.source;
                        const Block& block = chunk.blocks[b];
                        for (std::size_t i = block.first; i < block.first + block.count; ++i)
                            ranker.documents.push_back({chunk.entries[i].key, chunk.entries[i].doc, 0.0});
                    }
                    const std::string_view text = buffers.sources[source];
                    if (topic < 0)
                        ranker.rank_only(text.data());
                    else
                        ranker.run(text.data(), judged.index, topic);
                    dropped[l] = ranker.dropped;
                    if (ranker.has_duplicate) {
                        const std::string& topic_name = grouped.topics[static_cast<std::size_t>(list.topic)];
                        list_fault[l] = {source, ranker.duplicate.again.offset(),
                                         "document " + quoted(ranker.duplicate.again.in(text.data())) +
                                             " is there twice for topic " + quoted(topic_name)};
                        first_place[l] = ranker.duplicate.first.offset();
                        continue;
                    }
                    if (topic < 0) continue;
                    const std::size_t row = static_cast<std::size_t>(list.run) * judged.topics.size() + static_cast<std::size_t>(topic);
                    joined.retrieved[row] = static_cast<std::int32_t>(ranker.retrieved);
                    joined.missing[row] = 0;
                    joined.parts[l] = Joined::part(row, ranker, text.data());
                }
            });
            const Fault* worst = nullptr;
            for (const Fault& fault : list_fault)
                if (!fault.what.empty() && (!worst || std::pair(fault.source, fault.offset) < std::pair(worst->source, worst->offset)))
                    worst = &fault;
            if (worst) {  // lines are counted for the one that is told, not for every list
                faults.push_back(*worst);
                const std::size_t first = first_place[static_cast<std::size_t>(worst - list_fault.data())];
                faults.back().what += ", first on line " + std::to_string(line_of(buffers.sources[worst->source], first));
            }
            for (std::size_t l = 0; l < grouped.lists.size(); ++l) {
                const List& list = grouped.lists[l];
                joined.dropped += dropped[l];
                joined.documents += list.size;
                if (topic_number[static_cast<std::size_t>(list.topic)] < 0)
                    joined.unjudged[static_cast<std::size_t>(list.run)].push_back(grouped.topics[static_cast<std::size_t>(list.topic)]);
            }
        }
    }
    if (PyErr_Occurred()) throw nb::python_error();
    if (!faults.empty()) return nb::make_tuple(nb::none(), fault_list(faults, buffers.sources));
    return nb::make_tuple(joined.to_python(), nb::list());
}

nb::object py_join_tables(const Judged& judged, const std::vector<const Table*>& tables, const std::string& order,
                          bool single_precision, const std::string& on_duplicate, std::size_t depth, const Judged* numbers) {
    const JoinOptions options = join_options(order, single_precision, on_duplicate, depth, numbers);
    Joined joined(judged.topics.size());
    {
        const nb::gil_scoped_release release;
        Ranker ranker(options);
        std::int32_t first_name = 0;
        for (std::size_t t = 0; t < tables.size(); ++t) {
            const Table& table = *tables[t];
            if (options.order == Order::rank && table.rank.empty())
                throw std::invalid_argument("order == 'rank', but the run has no ranks; use 'score' or 'file'");
            for (const std::string& name : table.names) joined.add_run(name, static_cast<std::int32_t>(t));
            for (std::size_t l = 0; l < table.lists(); ++l) {
                const std::string& topic_name = table.topics[static_cast<std::size_t>(table.list_topic[l])];
                const std::int32_t run = first_name + table.list_name[l], topic = judged.index.topic(topic_name);
                const auto begin = static_cast<std::size_t>(table.list_start[l]);
                const auto end = static_cast<std::size_t>(table.list_start[l + 1]);
                joined.documents += end - begin;
                if (topic < 0) {
                    joined.unjudged[static_cast<std::size_t>(run)].push_back(topic_name);
                    continue;
                }
                ranker.documents.clear();
                for (std::size_t i = begin; i < end; ++i)
                    ranker.documents.push_back({options.order == Order::rank ? -table.rank[i] : table.value[i], table.doc[i], 0.0});
                ranker.run(table.arena.data(), judged.index, topic);
                joined.dropped += ranker.dropped;
                const std::size_t row = static_cast<std::size_t>(run) * judged.topics.size() + static_cast<std::size_t>(topic);
                joined.retrieved[row] = static_cast<std::int32_t>(ranker.retrieved);
                joined.missing[row] = 0;
                joined.parts.push_back(Joined::part(row, ranker, table.arena.data()));
            }
            first_name += static_cast<std::int32_t>(table.names.size());
        }
    }
    return joined.to_python();
}

// Dicts of dicts, walked in place: the strings are looked at where Python keeps them.
nb::object py_join_dicts(const Judged& judged, const std::vector<std::pair<std::string, nb::dict>>& runs,
                         const std::string& order, bool single_precision, std::size_t depth, const Judged* numbers) {
    const JoinOptions options = join_options(order, single_precision, "error", depth, numbers);
    if (options.order == Order::rank) throw nb::value_error("order == 'rank', but a dict has no ranks; use 'score' or 'file'");
    Joined joined(judged.topics.size());
    Ranker ranker(options);
    for (std::size_t r = 0; r < runs.size(); ++r) {
        joined.add_run(runs[r].first, static_cast<std::int32_t>(r));
        const nb::object walked = steady(runs[r].second.ptr());
        Py_ssize_t at = 0;
        PyObject *topic_key = nullptr, *documents = nullptr;
        while (PyDict_Next(walked.ptr(), &at, &topic_key, &documents)) {
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
            const nb::object steady_documents = steady(documents);
            Py_ssize_t place = 0;
            bool strings = true;  // then a dict has no document twice; 7 and "7" would be one document
            PyObject *doc = nullptr, *value = nullptr;
            while (PyDict_Next(steady_documents.ptr(), &place, &doc, &value)) {
                const std::string_view id = text.of(doc);
                strings &= PyUnicode_CheckExact(doc);
                check_id(id, "document");
                ranker.documents.push_back({to_double(value, topic_name, id, "score"), Id::at(nullptr, id), 0.0});
            }
            ranker.set_unique(strings);
            ranker.run(nullptr, judged.index, topic);
            if (ranker.has_duplicate)
                throw nb::value_error(("topic " + quoted(topic_name) + ": document " + quoted(ranker.duplicate.again.in(nullptr)) +
                                       " is there twice, as different Python objects").c_str());
            const std::size_t row = r * judged.topics.size() + static_cast<std::size_t>(topic);
            if (!joined.missing[row])
                throw nb::value_error(("topic " + quoted(topic_name) + " is there twice, as different Python objects").c_str());
            joined.retrieved[row] = static_cast<std::int32_t>(ranker.retrieved);
            joined.missing[row] = 0;
            joined.parts.push_back(Joined::part(row, ranker, nullptr));
            if ((joined.parts.size() & 255) == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
        }
    }
    return joined.to_python();
}

}  // namespace
}  // namespace cranfield

NB_MODULE(_core, m) {
    using namespace cranfield;
    nb::set_leak_warnings(false);  // a run that a script or a notebook still holds when Python ends is no leak
    m.doc() = "Reading runs and qrels, ranking, joining: the loops numpy cannot do.";

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
          "single_precision"_a, "on_duplicate"_a, "depth"_a, "threads"_a, "progress"_a.none(), "numbers"_a.none() = nb::none());
    m.def("join_tables", &py_join_tables, "judged"_a, "tables"_a, "order"_a, "single_precision"_a, "on_duplicate"_a, "depth"_a,
          "numbers"_a.none() = nb::none());
    m.def("join_dicts", &py_join_dicts, "judged"_a, "runs"_a, "order"_a, "single_precision"_a, "depth"_a,
          "numbers"_a.none() = nb::none());
    m.def("parse_number", [](nb::bytes text) { return parse_number({text.c_str(), text.size()}); }, "text"_a);
}
