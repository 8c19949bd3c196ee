// Objects of Python that stand for what the program has: its streams of text and bytes, and its callbacks.
//
// The user's code runs without Python's lock, on the thread that the simulator calls from, so that it may wait for
// another thread that calls into Poplar. What it throws is kept (errors.cpp).
#include "host_objects.hpp"

#include <pybind11/eval.h>
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
  void writelines(const py::iterable &lines) {
    for (const py::handle line : lines)
      write(py::reinterpret_borrow<py::object>(line));
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
    return to(call_user([&, data = const_cast<void *>(memory.data())] { return callback->prefetch(data); }));
  }
  void complete() {
    call_user([&] { callback->complete(); });
  }
  void invalidatePrefetched() {
    call_user([&] { callback->invalidatePrefetched(); });
  }
};

struct MetadataCalls {
  std::shared_ptr<StreamCallbackWithMetadata> callback;
  void fetch(const py::object &metadata, py::array memory) {
    with(metadata, [&, data = const_cast<void *>(memory.data())](QuarterMetadata &copied) {
      callback->fetch(copied, data);
    });
  }
  py::object prefetch(const py::object &metadata, py::array memory) {
    auto done = StreamCallback::Result::NotAvailable;
    with(metadata, [&, data = const_cast<void *>(memory.data())](QuarterMetadata &copied) {
      done = callback->prefetch(copied, data);
    });
    return to(done);
  }
  void complete() {
    call_user([&] { callback->complete(); });
  }
  void invalidatePrefetched() {
    call_user([&] { callback->invalidatePrefetched(); });
  }

private:
  template <class F> void with(const py::object &metadata, F function) {
    QuarterMetadata copied(Convert<unsigned char>::from(metadata.attr("getBinary")()));
    call_user([&] { function(copied); });
    metadata.attr("set")(to(copied));
  }
};

/// Gives a field its value.
struct InitCalls {
  std::function<std::string(const VertexEdgeInfo &)> value;
  TypeTraits traits;
  py::object call(const py::object &info) {
    VertexEdgeInfo edges;
    for (const auto &[field, storage] : py::dict(info.attr("storage")))
      for (const py::handle part : storage)
        edges.storage[text_of(field)].push_back({Convert<std::size_t>::from(part.attr("numElements")),
                                                 Convert<std::size_t>::from(part.attr("numBytes"))});
    const std::string bytes = call_user([&] { return value(edges); });
    return number_object(bytes.data(), traits);
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

/// The class of a stream's callback; it counts as the simulator's of the same name.
template <class Calls> void make_stream_class(const py::module_ &module, const char *name) {
  py::class_<Calls> stream_class(module, name);
  stream_class.def("fetch", &Calls::fetch)
      .def("prefetch", &Calls::prefetch)
      .def("complete", &Calls::complete)
      .def("invalidatePrefetched", &Calls::invalidatePrefetched);
  py::module_::import("simulator.poplar").attr(name).attr("register")(stream_class);
}

/// Make Python's classes of this file's structs; their module lives as long as the interpreter.
bool make_classes() {
  py::module_ module = py::module_::create_extension_module("popvision_native", nullptr, new PyModuleDef());
  py::class_<Writer>(module, "Writer")
      .def("write", &Writer::write)
      .def("writelines", &Writer::writelines)
      .def("flush", &Writer::flush);
  py::class_<Reader>(module, "Reader").def("read", &Reader::read, py::arg("size") = -1);
  make_stream_class<StreamCalls>(module, "StreamCallback");
  make_stream_class<MetadataCalls>(module, "StreamCallbackWithMetadata");
  py::class_<InitCalls>(module, "InitCallback")
      .def("__call__", &InitCalls::call)
      .attr("__signature__") = py::module_::import("inspect").attr("signature")(py::eval("lambda info: info"));
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

/// The simulator's object that suspends a callback. It holds the callback, which holds no share of it.
py::object resumable_object(ResumableStreamCallback &callback, const py::object &calls) {
  static PyObject *resumable_class = class_of_source(R"(
from simulator.poplar import ResumableStreamCallback
class Resumable(ResumableStreamCallback):
    def __init__(self, calls):
        self.prefetch, self.fetch, self.complete = calls.prefetch, calls.fetch, calls.complete
        self.invalidatePrefetched = calls.invalidatePrefetched
    prefetch = fetch = complete = None
)", "Resumable");
  py::object resumable = call(resumable_class, calls);
  callback.suspension = resumable.ptr();
  return resumable;
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

py::object callback_object(StreamCallbackHandle handle) {
  if (auto callback = std::dynamic_pointer_cast<StreamCallbackWithMetadata>(handle.callback))
    return host_object(MetadataCalls{std::move(callback)});
  auto *resumable = dynamic_cast<ResumableStreamCallback *>(handle.callback.get());
  const py::object calls = host_object(StreamCalls{std::move(handle.callback)});
  return resumable ? resumable_object(*resumable, calls) : calls;
}
py::object callback_object(std::function<std::string(const VertexEdgeInfo &)> value, const TypeTraits &traits) {
  return host_object(InitCalls{std::move(value), traits});
}
py::object callback_object(HostCallbackHandle handle) { return host_object(HostCalls{std::move(handle.callback)}); }

} // namespace bridge

namespace {

/// What a method of the simulator's object returns; of a callback that is not connected nothing.
template <class R> R suspended(void *suspension, bridge::Name &name) {
  return bridge::locked([&] {
    return suspension ? bridge::result<R>(bridge::call_method(static_cast<PyObject *>(suspension), name)) : R();
  });
}

} // namespace

void ResumableStreamCallback::notify() {
  static bridge::Name name{"notify"};
  suspended<void>(suspension, name);
}

bool ResumableStreamCallback::isAwaiting() const {
  static bridge::Name name{"isAwaiting"};
  return suspended<bool>(suspension, name);
}

void ResumableStreamCallback::wait() {
  static bridge::Name name{"wait"};
  suspended<void>(suspension, name);
}

} // namespace poplar
