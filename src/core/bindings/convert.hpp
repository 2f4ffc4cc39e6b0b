// Between Python and C++: texts, numbers, buffers, arrays, options.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ranker.hpp"
#include "reader.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace cranfield {
namespace {

template <typename T>
using Vector1 = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T, typename Memory>
Vector1<T> to_numpy(std::vector<T, Memory>&& values) {
    auto* kept = new std::vector<T, Memory>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T, Memory>*>(p); });
    return Vector1<T>(kept->data(), {kept->size()}, owner);
}

// A read-only look at a column; Python keeps the column's owner alive.
template <typename T, typename Memory>
nb::ndarray<nb::numpy, const T, nb::ndim<1>> look(const std::vector<T, Memory>& values) {
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

}  // namespace
}  // namespace cranfield
