// Values of C++ as those of Python, and back. One Convert for each kind: numbers, text, containers, functions,
// enumerations, handles, and structs. What has members of the same names on both sides is generated.
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
#include <poplar/CSRFunctions.hpp>
#include <poplar/Engine.hpp>

namespace poplar {
namespace bridge {

// Generated for each class of handles: where the simulator has it.
template <class T> struct ClassOf;
// Generated for each enumeration: where the simulator has it and its members' names.
template <class E> struct MembersOf;
// Generated for each struct of PopLibs: where the simulator has it, and a function for each of its fields.
template <class T> struct FieldsOf;

/// Throws: "This Engine is empty; ...".
[[noreturn]] void refuse_empty(const char *what);
/// What an empty handle of a class stands for: an invalid tensor, a program that does nothing.
py::object empty_object(const char *name);

template <class T> py::object object_of(const T &handle) {
  if (handle.share())
    return py::reinterpret_borrow<py::object>(static_cast<PyObject *>(handle.share().get()));
  return empty_object(ClassOf<T>::name);
}

/// None is an empty handle.
template <class T> struct Convert<T, std::enable_if_t<std::is_base_of_v<Handle, T>>> {
  static py::object to(const T &value) { return object_of(value); }
  static T from(const py::object &value) { return T(value.is_none() ? nullptr : shared(value)); }
};

/// A null pointer is None.
template <class T>
struct Convert<T *, std::enable_if_t<std::is_base_of_v<Handle, T> || std::is_same_v<T, const OptionFlags>>> {
  static py::object to(T *value) { return value == nullptr ? py::object(py::none()) : bridge::to(*value); }
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
  static std::string from(const py::object &value) { return value.is_none() ? std::string() : text_of(value); }
};

template <> struct Convert<StringRef> {
  static py::object to(StringRef value) { return text_object(value.data(), value.size()); }
  /// The characters are kept for ever: the names of targets are few.
  static StringRef from(const py::object &value) {
    static std::set<std::string> names; // under Python's lock
    return *names.insert(text_of(value)).first;
  }
};

/// Text that is kept for ever, as that of StringRef.
template <> struct Convert<const char *> {
  static const char *from(const py::object &value) { return Convert<StringRef>::from(value).data(); }
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

template <class T> struct Convert<std::set<T>> {
  static py::object to(const std::set<T> &values) { return list_of(values); }
};

template <class T> struct Convert<List<T>> {
  static py::object to(const List<T> &list) {
    const py::object object = bridge::to(list.values);
    list.object = shared(object);
    return object;
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

/// A field that is None where the struct says so.
template <class T> struct Optional {
  bool there;
  const T &value;
};

template <class T> Optional<T> optional(bool there, const T &value) { return {there, value}; }

template <class T> struct Convert<Optional<T>> {
  static py::object to(const Optional<T> &field) { return field.there ? bridge::to(field.value) : py::none(); }
};

/// The simulator's class is called with the fields by name; its objects have attributes of these names.
template <class T> struct Convert<T, std::void_t<decltype(FieldsOf<T>::path)>> {
  static py::object to(const T &value) {
    static Place place{FieldsOf<T>::module, FieldsOf<T>::path};
    py::dict fields;
    FieldsOf<T>::each(value, [&](const char *name, const auto &field) { fields[name] = bridge::to(field); });
    return checked(PyObject_Call(place.get(), py::tuple().ptr(), fields.ptr()));
  }
  static T from(const py::object &value) {
    T fields;
    FieldsOf<T>::each(fields, [&](const char *name, auto &field) {
      field = Convert<std::decay_t<decltype(field)>>::from(value.attr(name));
    });
    return fields;
  }
};

/// The fields of a struct, to compare it.
template <class T> auto tied(const T &value) { return FieldsOf<T>::tied(value); }

/// What Python prints of a value.
template <class T> std::string text(const T &value) {
  return locked([&] { return text_of(to(value)); });
}

/// Call the user's code without the lock; what it throws becomes Python's exception.
template <class F> auto call_user(F function) {
  try {
    Unlock unlock;
    return function();
  } catch (...) {
    keep_exception();
  }
  throw py::error_already_set();
}

template <class T> constexpr bool is_changed_vector = false;
template <class T> constexpr bool is_changed_vector<std::vector<T> &> = true;

/// A function of the program; a vector of handles that it changes is a list of Python, None where one is empty.
template <class R, class... A> struct Convert<std::function<R(A...)>> {
  using Function = std::function<R(A...)>;
  static py::object to(const Function &function) {
    if (!function)
      return py::none();
    return py::cpp_function(
        [function](const py::args &arguments) { return called(function, arguments, std::index_sequence_for<A...>()); });
  }

private:
  template <std::size_t... I>
  static py::object called(const Function &function, const py::args &arguments, std::index_sequence<I...>) {
    std::tuple<std::decay_t<A>...> values{Convert<std::decay_t<A>>::from(arguments[I])...};
    py::object outcome = py::none();
    if constexpr (std::is_void_v<R>)
      call_user([&] { std::apply(function, values); });
    else
      outcome = bridge::to(call_user([&] { return std::apply(function, values); }));
    (change<A>(arguments[I], std::get<I>(values)), ...);
    return outcome;
  }
  template <class T> static void change(const py::object &list, const std::decay_t<T> &values) {
    if constexpr (is_changed_vector<T>) {
      py::list items;
      for (const auto &value : values) // handles
        items.append(value.share() ? bridge::to(value) : py::none());
      if (PyList_SetSlice(list.ptr(), 0, PyList_GET_SIZE(list.ptr()), items.ptr()) < 0)
        rethrow();
    }
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
template <> struct Convert<Flag> : Convert<bool> {};
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
POPVISION_TO(FloatingPointBehaviour);
POPVISION_TO(program::PrintTensorFmt);
// src/host_objects.cpp: Python objects that write to, read from and call what the program has
POPVISION_TO(std::ostream);
POPVISION_TO(std::istream);
POPVISION_TO(std::stringstream);
#undef POPVISION_TO

/// A class that Python code defines; kept for ever.
PyObject *class_of_source(const char *source, const char *name);

/// The values of C++ that stand at `data`, as a NumPy array, or as one number.
py::object array_object(const void *data, const TypeTraits &traits, std::size_t count);
py::object number_object(const void *data, const TypeTraits &traits);

} // namespace bridge
} // namespace poplar

#endif
