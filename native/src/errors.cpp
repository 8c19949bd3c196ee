// Exceptions on both sides of the bridge. No exception of C++ passes a frame of Python: one of a callback is kept inside
// an exception of Python, and thrown again where the program's call returns.
#include "tables_poplar.hpp"

#include <exception>
#include <poplar/exceptions.hpp>
#include <string>

namespace poplar {
namespace bridge {

/// Generated: throw the exception of this name, if there is one in poplar/exceptions.hpp or another header.
void throw_named(const std::string &name, const std::string &what);

namespace {

/// The simulator ends a suspended callback: passes through the user's code back into the simulator.
struct Dropped {};
Place dropped{"simulator.runtime.host.resumable_callback", "CallbackDroppedError"};

const char *const KEPT = "exception of the program";

/// Rethrows what the user's code has thrown, if `error` or what it was raised from came from there.
void rethrow_kept(py::object error) {
  for (int depth = 0; depth < 20 && !error.is_none(); ++depth) {
    if (py::hasattr(error, "kept")) {
      auto *kept = py::reinterpret_borrow<py::capsule>(error.attr("kept")).get_pointer<std::exception_ptr>();
      std::rethrow_exception(*kept);
    }
    const py::object cause = error.attr("__cause__");
    error = cause.is_none() ? error.attr("__context__") : cause;
  }
}

std::string text_attribute(py::handle error, const char *name) {
  return text_of(py::getattr(error, name, py::str("")));
}

ErrorInfo error_info(const py::handle &info) {
  const py::object location = info.attr("location");
  return {Convert<ErrorCode>::from(info.attr("code")),
          location.is_none() ? ErrorLocation() : Convert<ErrorLocation>::from(location),
          info.attr("isSimulated").cast<bool>()};
}

/// Throw the exception of a class of Python, with what it carries, if there is one of its name.
void throw_like(const std::string &name, const std::string &what, const py::object &error) {
  if (name == "graph_memory_allocation_error")
    throw graph_memory_allocation_error(what, text_attribute(error, "profilePath"));
  if (name == "link_error")
    throw link_error(what, text_attribute(error, "output"));
  try {
    throw_named(name, what);
  } catch (runtime_error &raised) {
    for (const py::handle info : error.attr("errors"))
      raised.errors.push_back(error_info(info));
    if (auto *recoverable = dynamic_cast<recoverable_runtime_error *>(&raised))
      recoverable->action = Convert<RecoveryAction>::from(error.attr("recoveryAction"));
    throw;
  }
}

} // namespace

void keep_exception() {
  std::string what = "a callback of the program has thrown an exception";
  try {
    throw;
  } catch (const Dropped &) {
    return PyErr_SetNone(dropped.get());
  } catch (const std::exception &error) {
    what = error.what();
  } catch (...) {
  }
  py::object error = py::reinterpret_borrow<py::object>(PyExc_RuntimeError)(text_object(what.data(), what.size()));
  error.attr("kept") = py::capsule(new std::exception_ptr(std::current_exception()), KEPT, [](void *kept) {
    delete static_cast<std::exception_ptr *>(kept);
  });
  PyErr_SetObject(PyExc_RuntimeError, error.ptr());
}

void rethrow() {
  py::error_already_set raised;
  const py::object error = raised.value();
  rethrow_kept(error);
  if (py::isinstance(error, dropped.get()))
    throw Dropped();
  const std::string what = text_of(error);
  for (const py::handle type : py::tuple(py::type::of(error).attr("__mro__")))
    throw_like(type.attr("__name__").cast<std::string>(), what, error);
  throw poplar_error(py::type::of(error).attr("__name__").cast<std::string>() + ": " + what);
}

void refuse_empty(const char *what) {
  throw poplar_error(std::string("This ") + what + " is empty: it was moved from, or never made.");
}

py::object empty_object(const char *name) {
  static Place graph{"simulator.poplar", "Graph"}, tensor{"simulator.poplar", "Tensor"},
      sequence{"simulator.poplar.program", "Sequence"};
  const std::string text = name;
  Place *place = text == "Graph" ? &graph : text == "Tensor" ? &tensor : text == "Program" ? &sequence : nullptr;
  if (place == nullptr)
    refuse_empty(name);
  return call(place->get());
}

} // namespace bridge
} // namespace poplar
