// Values of C++ as those of Python, and back. One Convert for each kind: numbers, text, containers, enumerations,
// handles, and Poplar's small structs. What has members of the same names on both sides is generated.
#ifndef popvision_convert_hpp
#define popvision_convert_hpp

#include <cstdint>
#include <functional>
#include <istream>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "bridge.hpp"
#include <poplar/Engine.hpp>

namespace poplar {
namespace bridge {

// Generated for each class of handles: where the simulator has it.
template <class T> struct ClassOf;
// Generated for each enumeration: where the simulator has it and its members' names.
template <class E> struct MembersOf;

/// Throws: "This Engine is empty; ...".
[[noreturn]] void refuse_empty(const char *what);
/// What an empty handle of a class stands for: an invalid tensor, a program that does nothing.
py::object empty_object(const char *name);

template <class T> py::object object_of(const T &handle) {
  if (handle.share())
    return py::reinterpret_borrow<py::object>(static_cast<PyObject *>(handle.share().get()));
  return empty_object(ClassOf<T>::name);
}

template <class T> struct Convert<T, std::enable_if_t<std::is_base_of_v<Handle, T>>> {
  static py::object to(const T &value) { return object_of(value); }
  static T from(const py::object &value) { return T(shared(value)); }
};

/// A null pointer is None.
template <class T> struct Convert<T *, std::enable_if_t<std::is_base_of_v<Handle, T>>> {
  static py::object to(T *value) { return value == nullptr ? py::object(py::none()) : object_of(*value); }
};

/// Objects of Python go as they are.
template <> struct Convert<py::object> {
  static py::object to(const py::object &value) { return value; }
  static py::object from(const py::object &value) { return value; }
};

template <> struct Convert<bool> {
  static py::object to(bool value) { return py::reinterpret_borrow<py::object>(value ? Py_True : Py_False); }
  static bool from(const py::object &value) {
    const int truth = PyObject_IsTrue(value.ptr());
    if (truth < 0)
      rethrow();
    return truth != 0;
  }
};

template <class T> struct Convert<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static py::object to(T value) {
    if constexpr (std::is_signed_v<T>)
      return checked(PyLong_FromLongLong(value));
    else
      return checked(PyLong_FromUnsignedLongLong(value));
  }
  static T from(const py::object &value) {
    using Wide = std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>;
    const py::object number = checked(PyNumber_Long(value.ptr()));
    Wide wide;
    if constexpr (std::is_signed_v<T>)
      wide = PyLong_AsLongLong(number.ptr());
    else
      wide = PyLong_AsUnsignedLongLong(number.ptr());
    if (wide == static_cast<Wide>(-1) && PyErr_Occurred())
      rethrow();
    if (static_cast<Wide>(static_cast<T>(wide)) != wide)
      throw poplar_error("The number " + std::to_string(wide) + " does not fit into " + std::to_string(sizeof(T)) +
                         " bytes, which the C++ type of this result has.");
    return static_cast<T>(wide);
  }
};

template <class T> struct Convert<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static py::object to(T value) { return checked(PyFloat_FromDouble(value)); }
  static T from(const py::object &value) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1 && PyErr_Occurred())
      rethrow();
    return static_cast<T>(number);
  }
};

/// Text of the program as Python's and back; bytes that are not UTF-8, as in names of files, are kept.
py::object text_object(const char *data, std::size_t size);
std::string text_of(py::handle value);

template <> struct Convert<std::string> {
  static py::object to(const std::string &value) { return text_object(value.data(), value.size()); }
  static std::string from(const py::object &value) { return text_of(value); }
};

template <> struct Convert<StringRef> {
  static py::object to(StringRef value) { return text_object(value.data(), value.size()); }
  /// The characters are kept for ever: the names of targets are few.
  static StringRef from(const py::object &value) {
    static std::set<std::string> names; // under Python's lock
    return *names.insert(text_of(value)).first;
  }
};

template <class Range> py::object list_of(const Range &values) {
  py::object list = checked(PyList_New(values.size()));
  Py_ssize_t place = 0;
  for (const auto &value : values)
    PyList_SET_ITEM(list.ptr(), place++, to(value).release().ptr());
  return list;
}

template <class T> struct Convert<gccs::ArrayRef<T>> {
  static py::object to(const gccs::ArrayRef<T> &values) { return list_of(values); }
};

template <class T> struct Convert<std::vector<T>> {
  static py::object to(const std::vector<T> &values) { return list_of(values); }
  static std::vector<T> from(const py::object &values) {
    const py::object items = checked(PySequence_List(values.ptr()));
    std::vector<T> found;
    found.reserve(PyList_GET_SIZE(items.ptr()));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.ptr()); ++i)
      found.push_back(Convert<T>::from(py::reinterpret_borrow<py::object>(PyList_GET_ITEM(items.ptr(), i))));
    return found;
  }
};

template <class A, class B> struct Convert<std::pair<A, B>> {
  static py::object to(const std::pair<A, B> &value) {
    return checked(PyTuple_Pack(2, bridge::to(value.first).ptr(), bridge::to(value.second).ptr()));
  }
  static std::pair<A, B> from(const py::object &value) {
    return {Convert<std::decay_t<A>>::from(value[py::int_(0)]), Convert<B>::from(value[py::int_(1)])};
  }
};

template <class... T> struct Convert<std::tuple<T...>> {
  static py::object to(const std::tuple<T...> &value) {
    return std::apply([](const T &...parts) { return checked(PyTuple_Pack(sizeof...(T), bridge::to(parts).ptr()...)); },
                      value);
  }
  static std::tuple<T...> from(const py::object &value) { return from(value, std::index_sequence_for<T...>()); }

private:
  template <std::size_t... I> static std::tuple<T...> from(const py::object &value, std::index_sequence<I...>) {
    return {Convert<T>::from(value[py::int_(I)])...};
  }
};

template <class K, class V> struct Convert<std::map<K, V>> {
  static py::object to(const std::map<K, V> &values) {
    py::dict found;
    for (const auto &[key, value] : values)
      found[bridge::to(key)] = bridge::to(value);
    return found;
  }
  static std::map<K, V> from(const py::object &values) {
    std::map<K, V> found;
    for (const auto &[key, value] : py::dict(values))
      found.emplace(Convert<K>::from(py::reinterpret_borrow<py::object>(key)),
                    Convert<V>::from(py::reinterpret_borrow<py::object>(value)));
    return found;
  }
};

template <class E> struct Convert<E, std::enable_if_t<std::is_enum_v<E>>> {
  static py::object to(E value) {
    static PyObject *members[MembersOf<E>::count] = {};
    PyObject *&member = members[static_cast<std::size_t>(value)];
    if (member == nullptr) {
      Place place{MembersOf<E>::module, MembersOf<E>::path};
      member = checked(PyObject_GetAttrString(place.get(), MembersOf<E>::names[static_cast<std::size_t>(value)]))
                   .release()
                   .ptr();
    }
    return py::reinterpret_borrow<py::object>(member);
  }
  static E from(const py::object &value) {
    for (std::size_t i = 0; i < MembersOf<E>::count; ++i)
      if (to(static_cast<E>(i)).is(value))
        return static_cast<E>(i);
    throw poplar_error(text_of(value) + " has no name in C++.");
  }
};

/// Pointers are handed over as they are: the simulator reads and writes the program's own memory.
py::object pointer_object(const void *pointer);
template <> struct Convert<void *> {
  static py::object to(void *value) { return pointer_object(value); }
};
template <> struct Convert<const void *> {
  static py::object to(const void *value) { return pointer_object(value); }
};
template <> struct Convert<Memory> {
  static py::object to(const Memory &value) {
    return checked(PyMemoryView_FromMemory(static_cast<char *>(value.begin), static_cast<Py_ssize_t>(value.size),
                                           PyBUF_WRITE));
  }
};

// src/values.cpp
#define POPVISION_CONVERT(T)                                                                                           \
  template <> struct Convert<T> {                                                                                      \
    static py::object to(const T &value);                                                                              \
    static T from(const py::object &value);                                                                            \
  }
POPVISION_CONVERT(Type);
POPVISION_CONVERT(Interval);
POPVISION_CONVERT(VariableRef);
POPVISION_CONVERT(VariableInterval);
POPVISION_CONVERT(VertexPerfEstimate);
POPVISION_CONVERT(OptionFlags);
#undef POPVISION_CONVERT
// Values that only go to Python.
#define POPVISION_TO(T)                                                                                                \
  template <> struct Convert<T> {                                                                                      \
    static py::object to(const T &value);                                                                              \
  }
POPVISION_TO(replication_factor);
POPVISION_TO(DebugContext);
POPVISION_TO(DebugNameAndId);
POPVISION_TO(QuarterMetadata);
POPVISION_TO(program::PrintTensorFmt);
// src/host_objects.cpp: Python objects that write to, read from and call what the program has
POPVISION_TO(std::ostream);
POPVISION_TO(std::istream);
POPVISION_TO(std::stringstream);
POPVISION_TO(ProgressFunc);
POPVISION_TO(PerfEstimateFunc);
#undef POPVISION_TO

/// The values of C++ that stand at `data`, as a NumPy array, or as one number.
py::object array_object(const void *data, const TypeTraits &traits, std::size_t count);
py::object number_object(const void *data, const TypeTraits &traits);

} // namespace bridge
} // namespace poplar

#endif
