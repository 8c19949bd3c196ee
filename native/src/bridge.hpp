// How a call in C++ becomes one of the simulator, which is written in Python.
//
//   method<Tensor>(graph, name, shape)           calls graph.name(shape)
//   function<Tensor>(place, tensors, dimension)  calls a function of a module
//   attribute<double>(target, name)              reads target.name
//   made(place, arguments...)                    makes an object of a class
//   function_with<Tensor>(std::tie(a), place)    the same, with a result that goes to `a`
//   locked([&] { ... })                          several calls with Python's lock
//
// The first call starts Python where it does not run.
//
// Each argument goes through Convert (convert.hpp), and so does the result. An exception of Python becomes Poplar's.
#ifndef popvision_bridge_hpp
#define popvision_bridge_hpp

#include <array>
#include <memory>
#include <pybind11/pybind11.h>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <poplar/Handle.hpp>

namespace poplar {
namespace bridge {

namespace py = pybind11;

/// Start Python once, where it does not run in the process already.
void start();
/// Give this thread Python's state until it ends: what Python keeps for a thread, as open tracepoints, lasts between calls.
void enter_thread();

/// Holds Python's lock while it lives. No thread holds it between calls.
class Lock {
public:
  Lock() {
    start();
    enter_thread();
    state = PyGILState_Ensure();
  }
  ~Lock() { PyGILState_Release(state); }
  Lock(const Lock &) = delete;
  Lock &operator=(const Lock &) = delete;

private:
  PyGILState_STATE state;
};

/// Gives Python's lock up while it lives, for the user's code.
class Unlock {
public:
  Unlock() : state(PyEval_SaveThread()) {}
  ~Unlock() { PyEval_RestoreThread(state); }
  Unlock(const Unlock &) = delete;
  Unlock &operator=(const Unlock &) = delete;

private:
  PyThreadState *state;
};

/// Throw Python's current exception as one of C++: the one that a callback threw, or Poplar's of the same name.
[[noreturn]] void rethrow();
/// Make the exception that the user's code has thrown Python's current one; `rethrow` finds it again.
void keep_exception();

/// A new reference, or Python's exception.
inline py::object checked(PyObject *object) {
  if (object == nullptr)
    rethrow();
  return py::reinterpret_steal<py::object>(object);
}

/// A method's name as Python's string, made when it is first used.
struct Name {
  const char *text;
  PyObject *object = nullptr;
  PyObject *get() { return object ? object : object = checked(PyUnicode_InternFromString(text)).release().ptr(); }
};

/// A name of a module: a function or class, looked up when it is first used.
struct Place {
  const char *module;
  const char *path;
  PyObject *object = nullptr;
  PyObject *get() { return object ? object : object = find(); }

private:
  PyObject *find() const;
};

/// An object of Python as handles hold it. The last handle takes the lock to give it back.
std::shared_ptr<void> shared(py::object object);

/// Values of C++ as those of Python (`to`) and back (`from`).
template <class T, class Enable = void> struct Convert;

template <class T> py::object to(const T &value) { return Convert<T>::to(value); }

/// The object of a handle; `ClassOf<T>::make_empty` makes one for an empty handle, or throws.
template <class T> py::object object_of(const T &handle);

/// A vector that Python changes, and the list that Python sees; the lock is not held where it dies.
template <class T> struct List {
  std::vector<T> &values;
  mutable std::shared_ptr<void> object;
};

template <class T> List<T> list(std::vector<T> &values) { return {values, {}}; }

/// Give what Python has changed back to the program.
template <class T> void give_back(const T &) {}
template <class T> void give_back(const List<T> &list) {
  PyObject *object = static_cast<PyObject *>(list.object.get());
  list.values = Convert<std::vector<T>>::from(py::reinterpret_borrow<py::object>(object));
}

template <class R> std::decay_t<R> result(py::object value) {
  if constexpr (!std::is_void_v<R>)
    return Convert<std::decay_t<R>>::from(value);
}

template <class... A> py::object call(PyObject *callable, const A &...arguments) {
  constexpr std::size_t count = sizeof...(A);
  std::array<py::object, count> values{to(arguments)...};
  PyObject *stack[count + 1] = {nullptr};
  for (std::size_t i = 0; i < count; ++i)
    stack[i + 1] = values[i].ptr();
  return checked(PyObject_Vectorcall(callable, stack + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

template <class... A> py::object call_method(py::handle self, Name &name, const A &...arguments) {
  constexpr std::size_t count = sizeof...(A);
  std::array<py::object, count> values{to(arguments)...};
  PyObject *stack[count + 2] = {nullptr, self.ptr()};
  for (std::size_t i = 0; i < count; ++i)
    stack[i + 2] = values[i].ptr();
  return checked(
      PyObject_VectorcallMethod(name.get(), stack + 1, (count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

/// The line of the program whose call runs on this thread, null where the call has none: what the simulator makes inside
/// comes from there (values.cpp).
extern thread_local PyObject *place_of_call;

/// Forgets the place while a call runs, for that of the call itself, and remembers it again.
struct PlaceOfCall {
  PlaceOfCall() : outer(std::exchange(place_of_call, nullptr)) {}
  ~PlaceOfCall() { place_of_call = outer; }
  PyObject *outer;
};

/// The result of `calls`, which run with Python's lock.
template <class F> auto locked(F calls) {
  Lock lock;
  PlaceOfCall place;
  try {
    return calls();
  } catch (py::error_already_set &raised) {
    raised.restore();
  }
  rethrow();
}

template <class R, class T, class... A> std::decay_t<R> method(const T &self, Name &name, const A &...arguments) {
  return locked([&] {
    const py::object value = call_method(to(self), name, arguments...);
    (give_back(arguments), ...);
    return result<R>(value);
  });
}

/// A property, or the result of a method without arguments: libpva's methods are the one or the other in Python.
template <class R, class T> std::decay_t<R> attribute(const T &self, Name &name) {
  return locked([&] {
    py::object value = checked(PyObject_GetAttr(object_of(self).ptr(), name.get()));
    return result<R>(PyMethod_Check(value.ptr()) ? call(value.ptr()) : value);
  });
}

template <class R, class... A> std::decay_t<R> function(Place &place, const A &...arguments) {
  return locked([&] {
    const py::object value = call(place.get(), arguments...);
    (give_back(arguments), ...);
    return result<R>(value);
  });
}

/// How many objects of Python a result is.
template <class R> constexpr std::size_t parts_of = 1;
template <> constexpr std::size_t parts_of<void> = 0;
template <class... T> constexpr std::size_t parts_of<std::tuple<T...>> = sizeof...(T);
template <class A, class B> constexpr std::size_t parts_of<std::pair<A, B>> = 2;

template <class T> void put(T &place, const py::object &value) { place = Convert<T>::from(value); }
template <class T> void put(T *&place, const py::object &value) {
  if (place != nullptr)
    *place = Convert<T>::from(value);
}

/// What is behind the result in Python's tuple goes to the places of the program; a null pointer takes nothing.
template <class R, class... O, class... A>
std::decay_t<R> function_with(std::tuple<O &...> places, Place &place, const A &...arguments) {
  return locked([&] {
    const py::object value = call(place.get(), arguments...);
    std::size_t next = parts_of<R>;
    const bool single = next + sizeof...(O) == 1;
    const auto part = [&](std::size_t i) { return single ? value : py::object(value[py::int_(i)]); };
    std::apply([&](O &...out) { (put(out, part(next++)), ...); }, places);
    return result<R>(parts_of<R> == 1 ? part(0) : value);
  });
}

template <class... A> std::shared_ptr<void> made(Place &place, const A &...arguments) {
  return locked([&] { return shared(call(place.get(), arguments...)); });
}

} // namespace bridge
} // namespace poplar

#endif
