// PopLibs' expressions, and what has another form in the simulator.
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
  if (value.name == "UnaryOp")
    arguments.append(bridge::to(static_cast<popops::expr::UnaryOpType>(value.index)));
  if (value.name == "BinaryOp")
    arguments.append(bridge::to(static_cast<popops::expr::BinaryOpType>(value.index)));
  if (value.name == "TernaryOp")
    arguments.append(bridge::to(static_cast<popops::expr::TernaryOpType>(value.index)));
  for (const popops::expr::Expr &operand : value.operands)
    arguments.append(to(operand));
  if (value.name == "Cast")
    arguments.append(bridge::to(value.type));
  return checked(PyObject_CallObject(class_, py::tuple(arguments).ptr()));
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

namespace popnn {
namespace rnn {

poplar::Tensor backwardGradientStep(poplar::Graph &graph, const poplar::Tensor &nextLayerGrad,
                                    const poplar::Tensor &bwdState, const poplar::Tensor &actOut,
                                    const poplar::Tensor &weightsFeedback, poplar::program::Sequence &prog,
                                    NonLinearityType nonLinearityType, const poplar::Type &partialsType,
                                    const poplar::DebugContext &debugContext,
                                    poplin::matmul::PlanningCache *planningCache) {
  static poplar::bridge::Place place{"simulator.poplibs.popnn", "rnn.backwardGradientStep"};
  const poplar::Tensor *no_weights = nullptr;
  return poplar::bridge::function<std::pair<poplar::Tensor, poplar::Tensor>>(
             place, graph, nextLayerGrad, bwdState, actOut, no_weights, weightsFeedback, prog, nonLinearityType,
             partialsType, debugContext, planningCache)
      .second;
}

} // namespace rnn
} // namespace popnn
