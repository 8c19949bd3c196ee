// Methods of Graph whose arguments have another form in the simulator: values at an address, connections of a new
// vertex, results through pointers.
#include "host_objects.hpp"

#include <poplar/Graph.hpp>

namespace poplar {

namespace py = bridge::py;

Graph::Graph(const Device &device, replication_factor r) : Graph(device.getTarget(), r) {}

const Target &Graph::getTarget() const {
  static bridge::Name name{"getTarget"};
  if (!target.share())
    target = bridge::method<Target>(*this, name);
  return target;
}

bool Graph::addCodelets(ArrayRef<std::string> xs, StringRef compileFlags, StringRef targetName) {
  return bridge::locked([&] {
    py::object self = bridge::object_of(*this);
    return self.attr("addCodelets")(bridge::to(xs), py::arg("compileFlags") = bridge::to(compileFlags),
                                    py::arg("targetName") = bridge::to(targetName))
        .cast<bool>();
  });
}

namespace {

bridge::Name initial_value{"getInitialValue"}, initial_values{"getInitialValues"};

std::size_t product(ArrayRef<std::size_t> shape) {
  std::size_t elements = 1;
  for (std::size_t size : shape)
    elements *= size;
  return elements;
}

py::object values_object(const void *data, const TypeTraits &traits, std::size_t count, bool single) {
  return single ? bridge::number_object(data, traits) : bridge::array_object(data, traits, count);
}

/// What a field is connected to, as the simulator's addVertex takes it.
py::object connection_object(const Graph::ConnectionDesc &connection) {
  using Desc = Graph::ConnectionDesc;
  switch (connection.kind) {
  case Desc::TENSOR:
    return bridge::to(std::make_tuple(connection.field, connection.tensors.front()));
  case Desc::TENSORS:
    return bridge::to(std::make_tuple(connection.field, connection.tensors));
  case Desc::FIELD:
    return bridge::to(std::make_tuple(connection.field, connection.other, connection.isInput));
  default:
    return bridge::to(
        std::make_tuple(connection.field, bridge::number_object(connection.value.data(), connection.traits)));
  }
}

} // namespace

VertexRef Graph::addVertex(ComputeSet cs, StringRef vertexType, ArrayRef<ConnectionDesc> connections) {
  static bridge::Name name{"addVertex"};
  return bridge::locked([&] {
    std::vector<py::object> described;
    for (const ConnectionDesc &connection : connections)
      described.push_back(connection_object(connection));
    return bridge::result<VertexRef>(
        bridge::call_method(bridge::object_of(*this), name, cs, vertexType, described));
  });
}

double FieldData::initialNumber(const Target &target) const {
  return bridge::method<double>(*this, initial_value, target);
}

std::vector<double> FieldData::initialNumbers(const Target &target) const {
  return bridge::method<std::vector<double>>(*this, initial_values, target);
}

void Graph::checkNumber(ArrayRef<std::size_t> shape, std::size_t values) {
  if (values != product(shape))
    throw tensor_creation_error("addConstant: the shape has " + std::to_string(product(shape)) + " elements and " +
                                std::to_string(values) + " values are given; give one for each element.");
}

Tensor Graph::addConstant(const Type &type, ArrayRef<std::size_t> shape, const void *val, const TypeTraits &traits,
                          bool broadcast, const DebugContext &debugContext) {
  static bridge::Name name{"addConstant"};
  return bridge::locked([&] {
    return bridge::result<Tensor>(bridge::call_method(bridge::object_of(*this), name, type, shape,
                                                      values_object(val, traits, product(shape), broadcast),
                                                      debugContext));
  });
}

Tensor Graph::addConstant(const Type &type, const Tensor &metadata, ArrayRef<std::size_t> shape, const void *val,
                          const TypeTraits &traits, bool broadcast, const DebugContext &debugContext) {
  static bridge::Name name{"addConstant"};
  return bridge::locked([&] {
    return bridge::result<Tensor>(bridge::call_method(bridge::object_of(*this), name, type, metadata, shape,
                                                      values_object(val, traits, product(shape), broadcast),
                                                      debugContext));
  });
}

Tensor Graph::addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, const uint16_t *val,
                              const DebugContext &debugContext) {
  static bridge::Name name{"addConstantHalf"};
  return bridge::locked([&] {
    return bridge::result<Tensor>(
        bridge::call_method(bridge::object_of(*this), name, type, shape,
                            bridge::array_object(val, TypeTraits::make<uint16_t>(), product(shape)), debugContext));
  });
}

void Graph::connectValue(FieldRef field, const void *val, const TypeTraits &traits) {
  static bridge::Name name{"connect"};
  bridge::locked([&] {
    bridge::call_method(bridge::object_of(*this), name, field, bridge::number_object(val, traits));
  });
}

void Graph::setFieldValues(FieldRef field, const void *val, const TypeTraits &traits, std::size_t count, bool single) {
  static bridge::Name name{"setInitialValue"};
  bridge::locked([&] {
    bridge::call_method(bridge::object_of(*this), name, field, values_object(val, traits, count, single));
  });
}

void Graph::setTensorValues(const Tensor &t, const void *val, const TypeTraits &traits, std::size_t count,
                            bool single) {
  static bridge::Name name{"setInitialValue"};
  bridge::locked([&] {
    bridge::call_method(bridge::object_of(*this), name, t, values_object(val, traits, count, single));
  });
}

void Graph::setInitCallback(FieldRef field, LateValue callback, const TypeTraits &traits) {
  static bridge::Name name{"setInitCallback"};
  bridge::locked([&] {
    bridge::call_method(bridge::object_of(*this), name, field, bridge::callback_object(std::move(callback), traits));
  });
}

Graph::TileToTensorMapping Graph::getTileMapping(const Tensor &t, bool *isComplete, bool allowExternal) const {
  if (isComplete == nullptr)
    return getTileMapping(t, false, allowExternal);
  return bridge::locked([&] {
    const py::object self = bridge::object_of(*this);
    const py::object found = self.attr("getTileMapping")(bridge::to(t), py::arg("allowExternal") = allowExternal,
                                                     py::arg("isComplete") = true);
    *isComplete = found[py::int_(1)].cast<bool>();
    return bridge::result<TileToTensorMapping>(found[py::int_(0)]);
  });
}

std::vector<std::vector<Interval>> Graph::getSortedContiguousRegions(const Tensor &t, ArrayRef<Interval> regions,
                                                                     bool removeAliasedIntervals,
                                                                     std::vector<std::size_t> *aliases) const {
  static bridge::Name name{"getSortedContiguousRegions"};
  using Regions = std::vector<std::vector<Interval>>;
  if (aliases == nullptr)
    return bridge::method<Regions>(*this, name, t, regions, removeAliasedIntervals);
  auto both = bridge::method<std::pair<Regions, std::vector<std::size_t>>>(*this, name, t, regions,
                                                                           removeAliasedIntervals, true);
  *aliases = std::move(both.second);
  return std::move(both.first);
}

void Graph::reorderToSimplify(Tensor *t, ArrayRef<Tensor *> ts, bool requireSimplestOrder) const {
  static bridge::Name name{"reorderToSimplify"};
  std::vector<Tensor> others;
  for (const Tensor *other : ts)
    others.push_back(*other);
  auto reordered =
      bridge::method<std::pair<Tensor, std::vector<Tensor>>>(*this, name, *t, others, requireSimplestOrder);
  *t = reordered.first;
  for (std::size_t i = 0; i < ts.size(); ++i)
    *ts[i] = reordered.second[i];
}

} // namespace poplar
