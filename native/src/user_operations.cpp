// Custom operations of TensorFlow programs: Python calls the functions of a user's library through these, with its lock.
// The signatures are those of custom_op_api_level 4 and 5.
#include "tables_poplar.hpp"

#include <poplar/exceptions.hpp>

using poplar::Graph;
using poplar::Tensor;
using poplar::program::Program;
namespace bridge = poplar::bridge;
namespace py = pybind11;

namespace {

using Tensors = std::vector<Tensor>;
using Build = Program (*)(Graph &, const Tensors &, Tensors &, const std::string &, const std::string &);
using Gradient = Program (*)(Graph &, int, const Tensors &, const Tensors &, const Tensors &, Tensors &,
                             const std::string &, const std::string &);

template <class T> T value(PyObject *object) {
  return bridge::Convert<T>::from(py::reinterpret_borrow<py::object>(object));
}

/// (program, outputs) of what `build(outputs)` makes without the lock; its exception becomes Python's.
template <class F> PyObject *built(F build) {
  try {
    Tensors outputs;
    Program program;
    {
      bridge::Unlock unlock;
      program = build(outputs);
    }
    return bridge::to(std::make_tuple(program, outputs)).release().ptr();
  } catch (...) {
    bridge::keep_exception();
    return nullptr;
  }
}

} // namespace

extern "C" {

POPLAR_API PyObject *popvision_build(void *function, PyObject *graph, PyObject *inputs, PyObject *attributes,
                                     PyObject *name) {
  return built([=, of = value<Graph>(graph), operands = value<Tensors>(inputs), text = value<std::string>(attributes),
                prefix = value<std::string>(name)](Tensors &outputs) mutable {
    return reinterpret_cast<Build>(function)(of, operands, outputs, text, prefix);
  });
}

POPLAR_API PyObject *popvision_gradient(void *function, PyObject *graph, int index, PyObject *gradients,
                                        PyObject *inputs, PyObject *results, PyObject *attributes, PyObject *name) {
  return built([=, of = value<Graph>(graph), slopes = value<Tensors>(gradients), operands = value<Tensors>(inputs),
                forward = value<Tensors>(results), text = value<std::string>(attributes),
                prefix = value<std::string>(name)](Tensors &outputs) mutable {
    return reinterpret_cast<Gradient>(function)(of, index, slopes, operands, forward, outputs, text, prefix);
  });
}

/// Whether a program with the operation may be cached.
POPLAR_API bool popvision_is_hashable(void *function, std::int32_t level, std::uint32_t num_inputs) {
  std::vector<std::int64_t> allocating, identical;
  std::map<std::int64_t, std::int64_t> aliasing;
  bool is_elementwise = false, is_stateless = false, is_hashable = false;
  using Indices = decltype(allocating);
  using Aliasing = decltype(aliasing);
  if (level < 5)
    reinterpret_cast<void (*)(Indices &, Aliasing &, bool &, bool &, bool &, std::uint32_t)>(function)(
        allocating, aliasing, is_elementwise, is_stateless, is_hashable, num_inputs);
  else
    reinterpret_cast<void (*)(Indices &, Indices &, Aliasing &, bool &, bool &, bool &, std::uint32_t)>(function)(
        allocating, identical, aliasing, is_elementwise, is_stateless, is_hashable, num_inputs);
  return is_hashable;
}

} // extern "C"
