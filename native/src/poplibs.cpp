// PopLibs' values: expressions, parameters of reductions.
#include "tables.hpp"

#include <popops/Fill.hpp>

namespace poplar {
namespace bridge {

py::object Convert<popops::expr::Expr>::to(const popops::expr::Expr &value) {
  static std::map<std::string, PyObject *> classes;
  PyObject *&class_ = classes[value.name];
  if (class_ == nullptr) {
    const Place place{"simulator.poplibs.popops.expr", value.name.c_str()};
    class_ = Place(place).get();
  }
  if (!value.value.empty())
    return call(class_, number_object(value.value.data(), value.traits));
  if (value.name == "PlaceHolder")
    return call(class_, value.index);
  py::list arguments;
  for (const popops::expr::Expr &operand : value.operands)
    arguments.append(to(operand));
  if (value.name == "Cast")
    arguments.append(bridge::to(value.type));
  return checked(PyObject_CallObject(class_, py::tuple(arguments).ptr()));
}

py::object Convert<popops::ReduceParams>::to(const popops::ReduceParams &value) {
  static Place place{"simulator.poplibs.popops", "ReduceParams"};
  if (value.useScale)
    return call(place.get(), value.op, value.update, value.scale);
  return call(place.get(), value.op, value.update);
}

} // namespace bridge
} // namespace poplar

namespace popops {

void fill(poplar::Graph &graph, const poplar::Tensor &t, poplar::program::Sequence &prog, const void *fillValue,
          const poplar::TypeTraits &traits, const poplar::DebugContext &debugContext) {
  static poplar::bridge::Place place{"simulator.poplibs.popops", "fill"};
  poplar::bridge::locked([&] {
    poplar::bridge::call(place.get(), graph, t, prog, poplar::bridge::number_object(fillValue, traits), debugContext);
  });
}

} // namespace popops
