// Objects of Python that stand for what the program has: its streams of text and bytes, and its callbacks.
//
// The user's code runs without Python's lock, on the thread that the simulator calls from, so that it may wait for
// another thread that calls into Poplar. What it throws is kept (errors.cpp).
#include "host_objects.hpp"

#include <pybind11/embed.h>
#include <pybind11/numpy.h>

namespace poplar {
namespace bridge {
namespace {

/// A file of Python that writes to a stream of the program.
struct Writer {
  std::ostream *stream;
  std::size_t write(const py::object &text) {
    const std::string bytes = py::isinstance<py::bytes>(text) ? text.cast<std::string>() : text_of(text);
    call_user([&] { stream->write(bytes.data(), static_cast<std::streamsize>(bytes.size())); });
    return bytes.size();
  }
  void flush() {
    call_user([&] { stream->flush(); });
  }
};

/// A file of Python that reads bytes, or text, from a stream of the program.
struct Reader {
  std::istream *stream;
  bool text;
  py::object read(py::ssize_t size) {
    std::string bytes;
    call_user([&] {
      if (size < 0) {
        bytes.assign(std::istreambuf_iterator<char>(*stream), {});
      } else {
        bytes.resize(static_cast<std::size_t>(size));
        stream->read(bytes.data(), size);
        bytes.resize(static_cast<std::size_t>(stream->gcount()));
      }
    });
    return text ? text_object(bytes.data(), bytes.size()) : py::object(py::bytes(bytes));
  }
};

struct StreamCalls {
  std::shared_ptr<StreamCallback> callback;
  void fetch(py::array memory) {
    call_user([&, data = const_cast<void *>(memory.data())] { callback->fetch(data); });
  }
  py::object prefetch(py::array memory) {
    static Place results{"simulator.poplar", "StreamCallback.Result"};
    const auto done = call_user([&, data = const_cast<void *>(memory.data())] { return callback->prefetch(data); });
    return py::handle(results.get())
        .attr(done == StreamCallback::Result::Success ? "Success" : "NotAvailable");
  }
  void complete() {
    call_user([&] { callback->complete(); });
  }
  void invalidatePrefetched() {
    call_user([&] { callback->invalidatePrefetched(); });
  }
};

struct HostCalls {
  std::shared_ptr<HostCallback> callback;
  void call(const std::vector<py::array> &inputs, const std::vector<py::array> &outputs) {
    std::vector<const void *> sources;
    std::vector<void *> results;
    for (const py::array &input : inputs)
      sources.push_back(input.data());
    for (const py::array &output : outputs)
      results.push_back(const_cast<void *>(output.data()));
    call_user([&] { (*callback)(sources, results); });
  }
};

using Arrays = std::vector<py::array>;

Arrays arrays_of(const py::iterable &values) {
  Arrays found;
  for (const py::handle value : values)
    found.push_back(py::reinterpret_borrow<py::array>(value));
  return found;
}

/// Make Python's classes of this file's structs; their module lives as long as the interpreter.
bool make_classes() {
  py::module_ module = py::module_::create_extension_module("popvision_native", nullptr, new PyModuleDef());
  py::class_<Writer>(module, "Writer").def("write", &Writer::write).def("flush", &Writer::flush);
  py::class_<Reader>(module, "Reader").def("read", &Reader::read, py::arg("size") = -1);
  py::class_<StreamCalls>(module, "StreamCalls")
      .def("fetch", &StreamCalls::fetch)
      .def("prefetch", &StreamCalls::prefetch)
      .def("complete", &StreamCalls::complete)
      .def("invalidatePrefetched", &StreamCalls::invalidatePrefetched);
  py::class_<HostCalls>(module, "HostCalls")
      .def("__call__", [](HostCalls &self, const py::iterable &inputs, const py::iterable &outputs) {
        self.call(arrays_of(inputs), arrays_of(outputs));
      });
  module.release();
  return true;
}

bool classes_made = false; // under Python's lock

template <class T> py::object host_object(T value) {
  if (!classes_made)
    classes_made = make_classes();
  return py::cast(std::move(value));
}

} // namespace

py::object Convert<std::ostream>::to(const std::ostream &value) {
  return host_object(Writer{const_cast<std::ostream *>(&value)});
}

py::object Convert<std::istream>::to(const std::istream &value) {
  return host_object(Reader{const_cast<std::istream *>(&value), false});
}

py::object Convert<std::stringstream>::to(const std::stringstream &value) {
  return host_object(Reader{const_cast<std::stringstream *>(&value), true});
}

py::object callback_object(StreamCallbackHandle handle) { return host_object(StreamCalls{std::move(handle.callback)}); }
py::object callback_object(HostCallbackHandle handle) { return host_object(HostCalls{std::move(handle.callback)}); }

} // namespace bridge
} // namespace poplar
