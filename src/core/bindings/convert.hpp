// Converts between Python and C++: texts, numbers, buffers, arrays, options.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "bindings/unlock.hpp"
#include "mapping.hpp"
#include "numbers.hpp"
#include "ranker.hpp"
#include "reader.hpp"
#include "windows.hpp"

namespace cranfield {

namespace nb = nanobind;
using namespace nb::literals;

template <typename T>
using Vector1 = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// An array that takes over the memory of a vector.
template <typename T, typename Memory>
Vector1<T> to_numpy(std::vector<T, Memory>&& values) {
    auto* kept = new std::vector<T, Memory>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T, Memory>*>(p); });
    return Vector1<T>(kept->data(), {kept->size()}, owner);
}

// A read-only view of a column. Python keeps the owner of the column alive.
template <typename T, typename Memory>
nb::ndarray<nb::numpy, const T, nb::ndim<1>> view_of(const std::vector<T, Memory>& values) {
    static const T nothing{};
    return {values.empty() ? &nothing : values.data(), {values.size()}, nb::handle()};
}

template <typename T>
nb::ndarray<nb::numpy, const T, nb::ndim<1>> view_of(std::span<const T> values) {
    static const T nothing{};
    return {values.empty() ? &nothing : values.data(), {values.size()}, nb::handle()};
}

// The numbers of a column: a view, of which `owner` is the owner, or a copy if the column has codes.
inline nb::ndarray<nb::numpy, const double, nb::ndim<1>> numbers_of(const NumberColumn& column, nb::handle owner) {
    static const double nothing = 0;
    if (!column.coded()) return {column.empty() ? &nothing : column.plain().data(), {column.size()}, owner};
    return nb::ndarray<nb::numpy, const double, nb::ndim<1>>(to_numpy(column.decoded()));
}

inline nb::object to_str(std::string_view bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape"));
}

using Strings = nb::typed<nb::list, nb::str>;

inline Strings to_strs(const std::vector<std::string>& texts) {
    Strings out;
    for (const std::string& text : texts) out.append(to_str(text));
    return out;
}

// An array that Python passes.
template <typename T>
using Column = nb::ndarray<nb::numpy, const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Plain memory: an ndarray looks up its strides at every access.
template <typename T>
std::span<const T> span_of(const Column<T>& column) {
    return {column.data(), column.size()};
}

// The bytes of a str, of bytes or of an integer. Temporary objects that they need live as long as this object.
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

inline double to_double(PyObject* object, std::string_view topic, std::string_view doc, const char* what) {
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

// The dict itself if it holds only str and plain numbers, else a copy. Converting other keys and values runs Python code,
// which may change the dict while we iterate over it.
inline nb::object safe_to_iterate(PyObject* dict) {
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

inline void check_id(std::string_view id, const char* what) {
    if (id.empty()) throw nb::value_error((std::string("an empty ") + what + " id").c_str());
    if (id.size() > kLongestId)
        throw nb::value_error((std::string("a ") + what + " id has " + std::to_string(id.size()) + " bytes, at most " +
                               std::to_string(kLongestId) + " are allowed").c_str());
}

// Keeps a Python object for as long as what refers to its memory lives.
inline std::shared_ptr<const void> kept(nb::handle object) { return std::make_shared<const nb::object>(nb::borrow(object)); }

// Lists are converted here, not by nanobind: its conversions end the process if memory runs out.
using Objects = nb::typed<nb::list, nb::any>;

// Keeps the buffers of Python objects open while C++ reads them.
class Buffers {
public:
    explicit Buffers(const Objects& objects) {
        views_.reserve(objects.size());
        sources.reserve(objects.size());
        for (const nb::handle object : objects) {
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

// The mapped file that a buffer is a view of; null if it is something else.
inline const Mapping* mapping_of(nb::handle buffer) {
    const Mapping* mapping = nullptr;
    if (PyMemoryView_Check(buffer.ptr()))
        if (PyObject* base = PyMemoryView_GET_BASE(buffer.ptr())) nb::try_cast(nb::handle(base), mapping);
    return mapping;
}

// The sources of a join: buffers; or objects with `read()`, which returns the next block or nothing at the end, `rewind()`,
// `position` and `length`.
class Sources {
public:
    explicit Sources(const Objects& objects) {
        feeds.reserve(objects.size());
        for (const nb::handle object : objects) {
            if (!PyObject_CheckBuffer(object.ptr())) {
                feeds.push_back(blocks_of(nb::borrow(object)));
                continue;
            }
            nb::list one;
            one.append(object);
            buffers_.push_back(std::make_unique<Buffers>(nb::cast<Objects>(one)));
            const Mapping* const mapping = mapping_of(object);
            std::function<void(const char*, std::size_t)> release;
            if (mapping) release = [mapping](const char* begin, std::size_t size) { mapping->release(begin, size); };
            feeds.push_back(std::make_unique<MemoryFeed>(buffers_.back()->sources[0], std::move(release)));
        }
    }

    Feeds feeds;

private:
    // Runs Python code; an exception stays set, and false is returned.
    template <typename Code>
    static bool in_python(const Code& code) {
        const nb::gil_scoped_acquire gil;
        if (python_is_ending) {
            PyErr_SetNone(PyExc_SystemExit);
            return false;
        }
        try {
            code();
        } catch (nb::python_error& error) {
            error.restore();
            return false;
        }
        return true;
    }

    static std::unique_ptr<Feed> blocks_of(const nb::object& stream) {
        const auto read = [stream](std::vector<char>& buffer, bool& ended, std::size_t& position) {
            nb::object block;
            Py_buffer view{};
            if (!in_python([&] {
                    block = stream.attr("read")();
                    if (PyObject_GetBuffer(block.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
                    position = nb::cast<std::size_t>(stream.attr("position"));
                }))
                return false;
            const char* const bytes = static_cast<const char*>(view.buf);
            ended = view.len == 0;
            std::exception_ptr failure;
            try {
                buffer.insert(buffer.end(), bytes, bytes + view.len);
            } catch (...) {
                failure = std::current_exception();
            }
            const nb::gil_scoped_acquire gil;
            PyBuffer_Release(&view);
            block = nb::object();
            if (failure) std::rethrow_exception(failure);
            return true;
        };
        return std::make_unique<BlockFeed>(read, [stream] { return in_python([&] { stream.attr("rewind")(); }); },
                                           nb::cast<std::size_t>(stream.attr("length")));
    }

    std::vector<std::unique_ptr<Buffers>> buffers_;
};

inline Layout make_layout(const Strings& columns, const std::string& delimiter, bool header, const nb::str& expected) {
    static const std::unordered_map<std::string, Role> kRoles = {
        {"skip", Role::skip}, {"topic", Role::topic}, {"label", Role::label}, {"doc", Role::doc},
        {"rank", Role::rank}, {"value", Role::value}, {"name", Role::name}};
    Layout layout;
    Text text;
    for (const nb::handle name : columns) {
        const std::string column(text.of(name.ptr()));
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
    layout.expected = text.of(expected.ptr());
    return layout;
}

inline Order make_order(const std::string& order) {
    if (order == "score") return Order::score;
    if (order == "rank") return Order::rank;
    if (order == "file") return Order::file;
    throw nb::value_error(("order == '" + order + "', must be 'score', 'rank' or 'file'").c_str());
}

inline Ties make_ties(const std::string& ties) {
    if (ties == "z-a") return Ties::z_to_a;
    if (ties == "a-z") return Ties::a_to_z;
    if (ties == "file") return Ties::file;
    throw nb::value_error(("ties == '" + ties + "', must be 'z-a', 'a-z' or 'file'").c_str());
}

inline OnDuplicate make_rule(const std::string& rule) {
    if (rule == "error") return OnDuplicate::error;
    if (rule == "first") return OnDuplicate::first;
    if (rule == "max") return OnDuplicate::max;
    throw nb::value_error(("on_duplicate == '" + rule + "', must be 'error', 'first' or 'max'").c_str());
}

using Progress = nb::typed<nb::callable, void(std::size_t, std::size_t)>;

// Lets Ctrl-C interrupt and shows progress while threads work without the GIL. When Python ends, the work stops and its thread
// ends without a message; work that starts later is not stopped, and shows nothing: Python must not run in the middle of it.
inline Watch make_watch(const nb::object& progress = nb::none(), std::size_t pieces = 0) {
    if (python_is_ending) return [](std::size_t) { return true; };
    return [progress, pieces](std::size_t done) {
        const nb::gil_scoped_acquire gil;
        if (python_is_ending) {
            PyErr_SetNone(PyExc_SystemExit);
            return false;
        }
        if (PyErr_CheckSignals() != 0) return false;
        try {
            if (!progress.is_none()) progress(done, pieces);
        } catch (nb::python_error& error) {  // raised again by the caller, when all threads have ended
            error.restore();
            return false;
        }
        return true;
    };
}

using Faults = nb::typed<nb::list, std::tuple<std::size_t, std::size_t, nb::str>>;

// (source, line of the first, message) of each kind of oddity in each source, in order of lines.
inline Faults oddity_list(std::vector<Oddity> odd) {
    const auto place = [](const Oddity& one) { return std::tie(one.source, one.line, one.kind); };
    std::sort(odd.begin(), odd.end(), [&](const Oddity& a, const Oddity& b) { return place(a) < place(b); });
    Faults out;
    for (const Oddity& one : odd) {
        const std::string more = one.count > 1 ? " (" + count_of(one.count, "line") + " like this)" : "";
        out.append(nb::make_tuple(one.source, one.line, to_str(one.what + more)));
    }
    return out;
}

// (source, line, message) of each fault.
inline Faults fault_list(const std::vector<Fault>& faults, const std::vector<Source>& sources) {
    Faults out;
    LineIndexes lines(sources);
    for (const Fault& fault : faults)
        out.append(nb::make_tuple(fault.source, lines.line(fault.source, fault.offset), to_str(fault.what)));
    return out;
}

}  // namespace cranfield
