#ifndef poplar_Graph_hpp
#define poplar_Graph_hpp

#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/Device.hpp>
#include <poplar/GraphElements.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplar/Target.hpp>
#include <poplar/Tensor.hpp>
#include <poplar/TypeTraits.hpp>
#include <poplar/VectorLayout.hpp>
#include <poplar/Version.hpp>
#include <poplar/VertexEdgeInfo.hpp>
#include <poplar/exceptions.hpp>

namespace poplar {

/// An order of a tensor's elements that is simpler to work with, and back.
class TensorRearranger : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  TensorRearranger() = default;
  Tensor rearrange(const Tensor &t) const;
  std::vector<Interval> rearrange(ArrayRef<Interval> is) const;
  Tensor undoRearrangement(const Tensor &t) const;
  std::vector<Interval> undoRearrangement(ArrayRef<Interval> is) const;
};

/// What an estimator sees of a field of a vertex.
class FieldData : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  std::string name() const;
  unsigned rank() const;
  std::size_t size() const;
  std::size_t getSizeAtIndex(std::size_t i) const;
  /// The layout of the vector; of a vector of vectors that of the list (level 0) or of the inner ones (level 1).
  layout::Vector getProfilerVectorLayout(std::size_t nestingLevel = 0) const;
  layout::VectorList getProfilerVectorListLayout() const;
  /// The value of a simple field.
  template <class T> T getInitialValue(const Target &target) const { return static_cast<T>(initialNumber(target)); }
  template <class T> std::vector<T> getInitialValues(const Target &target) const {
    const std::vector<double> numbers = initialNumbers(target);
    return std::vector<T>(numbers.begin(), numbers.end());
  }

private:
  double initialNumber(const Target &target) const; // src/graph.cpp
  std::vector<double> initialNumbers(const Target &target) const; // src/graph.cpp
};

/// What an estimator sees of a vertex.
class VertexIntrospector : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  FieldData getFieldInfo(const std::string &name) const;
};

using PerfEstimateFunc = std::function<VertexPerfEstimate(const VertexIntrospector &v, const Target &target)>;
using CycleEstimateFunc = std::function<std::uint64_t(const VertexIntrospector &v, const Target &target)>;

/// A program for the IPU: variables, their tiles, vertices and streams. Copies are views of the same graph.
class Graph : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  using TileToTensorMapping = std::vector<std::vector<Interval>>;
  using HostFunctionArgument = std::tuple<Type, std::size_t>;

  /// What a field of a new vertex is connected to: {name, tensor}, {name, field, false} or {name, value}.
  class ConnectionDesc {
  public:
    ConnectionDesc(StringRef field, Tensor tensor) : field(field.str()), tensors{std::move(tensor)}, kind(TENSOR) {}
    ConnectionDesc(StringRef field, ArrayRef<Tensor> tensors)
        : field(field.str()), tensors(tensors.begin(), tensors.end()), kind(TENSORS) {}
    ConnectionDesc(StringRef field, FieldRef other, bool isInput)
        : field(field.str()), other(std::move(other)), isInput(isInput), kind(FIELD) {}
    template <class T>
    ConnectionDesc(StringRef field, T v, typename std::enable_if<TypeTraits::isSimpleType<T>()>::type * = nullptr)
        : field(field.str()), traits(TypeTraits::make<T>()),
          value(reinterpret_cast<const char *>(&v), sizeof(T)), kind(VALUE) {}

    enum Kind { TENSOR, TENSORS, FIELD, VALUE };
    std::string field;
    std::vector<Tensor> tensors;
    FieldRef other;
    bool isInput = false;
    TypeTraits traits = TypeTraits::make<float>();
    std::string value; // the bytes of a value of type `traits`
    Kind kind;
  };

  Graph() = default;
  Graph(const Target &target, replication_factor r = replication_factor(1));
  Graph(const Device &device, replication_factor r = replication_factor(1)); // src/graph.cpp

  const Target &getTarget() const; // src/graph.cpp
  unsigned getReplicationFactor() const;

  /// Add codelets: C, C++ or assembly source, or an object file of popc. False where they were there already.
  bool addCodelets(StringRef src, CodeletFileType type = CodeletFileType::Auto, StringRef compileFlags = "",
                   StringRef targetName = "");
  bool addCodelets(StringRef src, CodeletFileType type, StringRef compileFlags, std::ostream &compileOutput,
                   StringRef targetName = "");
  bool addCodelets(ArrayRef<std::string> xs, StringRef compileFlags = "", StringRef targetName = ""); // src/graph.cpp
  void addCodelets(std::stringstream &stream, StringRef compileFlags = "",
                   CodeletFileType type = CodeletFileType::CppSource, StringRef targetName = "");
  void addCodelets(std::stringstream &stream, StringRef compileFlags, std::ostream &compileOutput,
                   CodeletFileType type = CodeletFileType::CppSource, StringRef targetName = "");
  void addCodeletPlaceholder(std::istream &stream, StringRef targetName = "");
  bool hasCodelet(StringRef codeletName) const;

  VertexRef addVertex(ComputeSet cs, StringRef vertexType);
  VertexRef addVertex(ComputeSet cs, StringRef vertexType, ArrayRef<ConnectionDesc> connections); // src/graph.cpp
  VertexRef addExternalExchangeVertex(ComputeSet cs, StringRef vertexType, unsigned incomingDownCount,
                                      bool usesEastEdge, bool sendsXReq);

  Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape, const DebugContext &debugContext = {});
  Tensor addVariable(const Type &type, const Tensor &metadata, ArrayRef<std::size_t> shape,
                     const DebugContext &debugContext = {});
  Tensor addVariable(const Type &type, ArrayRef<std::size_t> shape, VariableMappingMethod mappingMethod,
                     const DebugContext &debugContext = {});
  Tensor addVariable(const Type &type, const Tensor &metadata, ArrayRef<std::size_t> shape,
                     VariableMappingMethod mappingMethod, const DebugContext &debugContext = {});
  Tensor addExternalVariable(const Type &type, ArrayRef<std::size_t> shape, StringRef symbol,
                             const DebugContext &debugContext = {});

  /// A constant: as many values as elements, or one value for all elements.
  template <class T>
  Tensor addConstant(const Type &type, const Tensor &metadata, ArrayRef<std::size_t> shape, ArrayRef<T> values,
                     const DebugContext &debugContext = {"<const>"}) {
    checkNumber(shape, values.size());
    return addConstant(type, metadata, shape, values.data(), TypeTraits::make<T>(), false, debugContext);
  }
  template <class T>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, ArrayRef<T> values,
                     const DebugContext &debugContext = {"<const>"}) {
    checkNumber(shape, values.size());
    return addConstant(type, shape, values.data(), TypeTraits::make<T>(), false, debugContext);
  }
  template <class T>
  Tensor addConstant(const Type &type, const Tensor &metadata, ArrayRef<std::size_t> shape, T val,
                     const DebugContext &debugContext = {"<const>"},
                     typename std::enable_if<TypeTraits::isSimpleType<T>()>::type * = nullptr) {
    return addConstant(type, metadata, shape, &val, TypeTraits::make<T>(), true, debugContext);
  }
  template <class T>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, T val,
                     const DebugContext &debugContext = {"<const>"},
                     typename std::enable_if<TypeTraits::isSimpleType<T>()>::type * = nullptr) {
    return addConstant(type, shape, &val, TypeTraits::make<T>(), true, debugContext);
  }
  template <class T>
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, const T *val,
                     const DebugContext &debugContext = {"<const>"}) {
    return addConstant(type, shape, val, TypeTraits::make<T>(), false, debugContext);
  }
  Tensor addConstant(const Type &type, ArrayRef<std::size_t> shape, const void *val, const TypeTraits &traits,
                     bool broadcast, const DebugContext &debugContext = {"<const>"}); // src/graph.cpp
  Tensor addConstant(const Type &type, const Tensor &metadata, ArrayRef<std::size_t> shape, const void *val,
                     const TypeTraits &traits, bool broadcast,
                     const DebugContext &debugContext = {"<const>"}); // src/graph.cpp
  Tensor addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, uint16_t val,
                         const DebugContext &debugContext = {"<const>"});
  Tensor addConstantHalf(const Type &type, ArrayRef<std::size_t> shape, const uint16_t *val,
                         const DebugContext &debugContext = {"<const>"}); // src/graph.cpp

  Tensor clone(const Type &type, const Tensor &t, const DebugContext &debugContext = {},
               TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
  Tensor clone(const Type &type, const Tensor &metadata, const Tensor &t, const DebugContext &debugContext = {},
               TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
  Tensor clone(const Tensor &t, const DebugContext &debugContext = {},
               TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
  Tensor clone(const Tensor &metadata, const Tensor &t, const DebugContext &debugContext = {},
               TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
  Tensor cloneN(const Type &type, const Tensor &t, std::size_t N, const DebugContext &debugContext = {},
                TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES,
                TensorCloneDuplicationMethod duplicationMethod =
                    TensorCloneDuplicationMethod::DUPLICATE_BY_OUTER_DIMENSION);
  Tensor cloneN(const Type &type, const Tensor &metadata, const Tensor &t, std::size_t N,
                const DebugContext &debugContext = {},
                TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES,
                TensorCloneDuplicationMethod duplicationMethod =
                    TensorCloneDuplicationMethod::DUPLICATE_BY_OUTER_DIMENSION);
  Tensor cloneN(const Tensor &t, std::size_t N, const DebugContext &debugContext = {},
                TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES,
                TensorCloneDuplicationMethod duplicationMethod =
                    TensorCloneDuplicationMethod::DUPLICATE_BY_OUTER_DIMENSION);
  Tensor cloneN(const Tensor &metadata, const Tensor &t, std::size_t N, const DebugContext &debugContext = {},
                TensorCloneMethod method = TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES,
                TensorCloneDuplicationMethod duplicationMethod =
                    TensorCloneDuplicationMethod::DUPLICATE_BY_OUTER_DIMENSION);

  /// Connect a field of a vertex to a tensor, to tensors, or to a constant value.
  void connect(FieldRef field, const Tensor &tensor);
  void connect(FieldRef field, ArrayRef<Tensor> tensors);
  template <class T, class = typename std::enable_if<TypeTraits::isSimpleType<T>()>::type>
  void connect(FieldRef field, T v) {
    connectValue(field, &v, TypeTraits::make<T>());
  }

  void setPerfEstimate(const VertexRef &v, std::uint64_t cycles, std::uint64_t flops = 0);
  void setPerfEstimate(const VertexRef &v, const VertexPerfEstimate &estimate);
  VertexPerfEstimate getPerfEstimate(const VertexRef &v) const;
  /// What setPerfEstimate and registerPerfEstimator were called in version 1.
  void setCycleEstimate(const VertexRef &v, std::uint64_t cycles) { setPerfEstimate(v, cycles); }
  std::uint64_t getCycleEstimate(const VertexRef &v) const { return getPerfEstimate(v).cycles; }
  void registerCycleEstimator(StringRef vertexTypeName, CycleEstimateFunc f) {
    registerPerfEstimator(vertexTypeName, std::move(f));
  }
  /// Estimate vertices of a type that have no estimate of their own.
  void registerPerfEstimator(StringRef vertexTypeName, PerfEstimateFunc f);
  unsigned getNumVertices() const;
  ComputeSet addComputeSet(const DebugContext &debugContext = {});
  void setFieldSize(FieldRef field, std::size_t size);
  std::size_t getFieldSize(FieldRef field) const;
  std::size_t getMaxFieldDim(StringRef vertexName, StringRef fieldName, unsigned dimIndex) const;
  double getMaxVertexFieldValue(StringRef vertexName, StringRef fieldName) const;

  /// Set the value of a simple field, of an element or of a vector field; or what a tensor holds before the first run.
  template <class T, class = typename std::enable_if<TypeTraits::isSimpleType<T>()>::type>
  void setInitialValue(FieldRef field, T val) {
    setFieldValues(field, &val, TypeTraits::make<T>(), 1, true);
  }
  template <class T> void setInitialValue(FieldRef field, ArrayRef<T> val) {
    setFieldValues(field, val.data(), TypeTraits::make<T>(), val.size(), false);
  }
  template <class T, class = typename std::enable_if<TypeTraits::isSimpleType<T>()>::type>
  void setInitialValue(const Tensor &t, T val) {
    setTensorValues(t, &val, TypeTraits::make<T>(), 1, true);
  }
  template <class T> void setInitialValue(const Tensor &t, ArrayRef<T> values) {
    setTensorValues(t, values.data(), TypeTraits::make<T>(), values.size(), false);
  }
  void setInitialValue(const Tensor &t, const std::map<unsigned, unsigned> &vals);
  /// Let a callback give a simple field its value when the graph is complete: setInitCallback<uint16_t>(v["n"], f).
  template <class T>
  void setInitCallback(FieldRef field, LateInitCallback<T> callback,
                       typename std::enable_if<std::is_arithmetic<T>::value>::type * = nullptr) {
    setInitCallback(field, LateValue([callback](const VertexEdgeInfo &edges) {
                      const T value = callback(edges);
                      return std::string(reinterpret_cast<const char *>(&value), sizeof(T));
                    }),
                    TypeTraits::make<T>());
  }
  void setInitialValueHalf(FieldRef field, uint16_t val);
  void setInitialValueHalf(FieldRef field, ArrayRef<uint16_t> val);
  void setInitialValueHalf(const Tensor &t, uint16_t val);

  void createHostWrite(StringRef handle, const Tensor &t, bool rearrangeOnHost = false);
  void createHostRead(StringRef handle, const Tensor &t, bool rearrangeOnHost = false);
  DataStream addHostToDeviceFIFO(StringRef handle, const Type &elementType, std::size_t numElements,
                                 ReplicatedStreamMode replicatedMode = ReplicatedStreamMode::REPLICATE,
                                 const OptionFlags &options = {});
  DataStream addDeviceToHostFIFO(StringRef handle, const Type &elementType, std::size_t numElements,
                                 const OptionFlags &options = {});
  RemoteBuffer addRemoteBuffer(StringRef handle, const Type &elementType, std::size_t numElements,
                               std::size_t repeats = 1, bool rearrangeOnHost = false, bool optimiseMemory = false);
  HostFunction addHostFunction(StringRef handle, ArrayRef<HostFunctionArgument> inputs,
                               ArrayRef<HostFunctionArgument> outputs);

  void outputVertexGraph(std::ostream &outputStream, ArrayRef<program::Program> progs = {}) const;
  void outputComputeGraph(std::ostream &outputStream, ArrayRef<program::Program> progs = {}) const;

  /// Place a vertex, a tensor, or the intervals of a tensor's elements on tiles.
  void setTileMapping(VertexRef v, unsigned tileNum);
  void setTileMapping(const Tensor &t, unsigned tileNum);
  void setTileMapping(const Tensor &t, const TileToTensorMapping &mapping);
  TileToTensorMapping getTileMapping(const Tensor &t, bool requireComplete = true, bool allowExternal = false) const;
  TileToTensorMapping getTileMapping(const Tensor &t, bool *isComplete,
                                     bool allowExternal = false) const; // src/graph.cpp
  TileToTensorMapping getVariableTileMapping(const Tensor &t) const;

  Tensor getVariable(VariableRef v) const;
  bool isConstant(VariableRef v) const;
  std::vector<std::vector<Interval>>
  getSortedContiguousRegions(const Tensor &t, ArrayRef<Interval> regions, bool removeAliasedIntervals = false,
                             std::vector<std::size_t> *aliases = nullptr) const; // src/graph.cpp
  void reorderToSimplify(Tensor *t, ArrayRef<Tensor *> ts, bool requireSimplestOrder = true) const; // src/graph.cpp
  TensorRearranger getSimplifyingRearranger(const Tensor &t) const;
  Tensor findUnbroadcastTensor(const Tensor &t) const;

  void serializeTensors(std::ostream &out, ArrayRef<Tensor> tensors, SerializationFormat format) const;
  std::vector<Tensor> deserializeTensors(std::istream &in, SerializationFormat format);
  void serialize(std::ostream &out, SerializationFormat format) const;
  void serialize(std::ostream &out, ArrayRef<program::Program> progs, SerializationFormat format) const;

  Graph createVirtualGraph(unsigned numTilesPerIPU);
  Graph createVirtualGraph(unsigned lowerTile, unsigned upperTile);
  Graph createVirtualGraph(const std::vector<unsigned> &perIpuTiles);
  Graph getTopLevelGraph();
  /// A record of an operation of a library, below which what it makes can stand. Not one of Poplar's functions.
  DebugInfo addDebugInfo(const DebugContext &debugContext, StringRef layer);
  Tensor addReplicationIndexConstant(const DebugContext &debugContext = {});
  Function addFunction(const program::Program &program);
  FunctionBuffer addFunctionBuffer(const Function &f, FunctionBufferMappingType mappingType);

  unsigned convertTileToTopLevelGraphTile(unsigned tileId) const;
  unsigned convertTopLevelGraphTileToTile(unsigned topLevelGraphTileId) const;
  unsigned convertVirtualTileToPhysicalTile(unsigned tileId) const;
  unsigned convertPhysicalTileToVirtualTile(unsigned physicalTileId) const;
  unsigned convertPhysicalTileToVirtualTile(unsigned ipuId, unsigned physicalTileId) const;

private:
  static void checkNumber(ArrayRef<std::size_t> shape, std::size_t values); // src/graph.cpp
  void connectValue(FieldRef field, const void *val, const TypeTraits &traits); // src/graph.cpp
  void setFieldValues(FieldRef field, const void *val, const TypeTraits &traits, std::size_t count,
                      bool single); // src/graph.cpp
  void setTensorValues(const Tensor &t, const void *val, const TypeTraits &traits, std::size_t count,
                       bool single); // src/graph.cpp

  /// The bytes of a value.
  using LateValue = std::function<std::string(const VertexEdgeInfo &)>;
  void setInitCallback(FieldRef field, LateValue callback, const TypeTraits &traits); // src/graph.cpp

  mutable Target target;
};

} // namespace poplar

#endif
