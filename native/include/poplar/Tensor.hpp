#ifndef poplar_Tensor_hpp
#define poplar_Tensor_hpp

#include <ostream>
#include <string>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/Enumerations.hpp>
#include <poplar/Handle.hpp>
#include <poplar/Interval.hpp>
#include <poplar/Type.hpp>

namespace poplar {

/// The number of a variable of a graph.
struct VariableRef {
  unsigned id = 0;
};
inline bool operator==(VariableRef a, VariableRef b) { return a.id == b.id; }
inline bool operator!=(VariableRef a, VariableRef b) { return a.id != b.id; }
inline bool operator<(VariableRef a, VariableRef b) { return a.id < b.id; }

/// Elements of one variable.
struct VariableInterval {
  VariableRef var;
  Interval interval;
};
inline bool operator==(const VariableInterval &a, const VariableInterval &b) {
  return a.var == b.var && a.interval == b.interval;
}

/// A view of elements of variables, with a shape. Copies share the elements.
class Tensor : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  Tensor() = default;

  Type elementType() const;
  std::size_t rank() const;
  std::size_t dim(unsigned dimension) const;
  std::vector<std::size_t> shape() const;
  std::size_t numElements() const;
  bool valid() const;
  bool hasMetadata() const;
  Tensor getMetadata() const;

  /// The sub-tensor at an index of the outermost dimension.
  Tensor operator[](std::size_t i) const;
  Tensor index(ArrayRef<std::size_t> indices) const;
  /// Elements [begin, end) of one dimension.
  Tensor slice(std::size_t begin, std::size_t end, unsigned dimension = 0) const;
  Tensor slice(const Interval &region, unsigned dimension = 0) const;
  /// Elements [begin[i], end[i]) of each dimension i.
  Tensor slice(ArrayRef<std::size_t> begin, ArrayRef<std::size_t> end) const;
  std::vector<Tensor> slices(ArrayRef<Interval> intervals, unsigned dimension = 0) const;
  std::vector<Tensor> slices(const std::vector<std::vector<Interval>> &intervals, unsigned dimension = 0) const;
  std::vector<Tensor> slices(ArrayRef<unsigned> indices, unsigned dimension = 0) const;

  Tensor flatten() const;
  Tensor flatten(unsigned dimBegin, unsigned dimEnd) const;
  Tensor reshape(ArrayRef<std::size_t> shape) const;
  Tensor reshapePartial(unsigned beginIndex, unsigned endIndex, ArrayRef<std::size_t> newDims) const;
  Tensor expand(ArrayRef<std::size_t> indices) const;
  Tensor squeeze(ArrayRef<std::size_t> indices) const;
  Tensor transpose() const;
  Tensor dimShuffle(ArrayRef<unsigned> permutation) const;
  Tensor dimShufflePartial(ArrayRef<unsigned> source, ArrayRef<unsigned> destination) const;
  Tensor dimRoll(unsigned dimension, unsigned newIndex = 0) const;
  Tensor reverse(unsigned dimension) const;
  Tensor subSample(unsigned stride, unsigned dimension) const;
  Tensor upsample(unsigned scale, unsigned dimension, UpsampleMethod method) const;
  Tensor broadcast(unsigned N, unsigned dimension) const;
  Tensor reinterpret(const Type &type) const;

  bool containsAliases() const;
  bool containsConstant() const;
  bool isParallelWriteable() const;
  bool isContiguous() const;
  bool intersectsWith(const Tensor &other) const;
  const std::vector<Interval> getContiguousRegions() const;
  const std::vector<VariableInterval> getVarRegions() const;

  std::string shapeToString() const;
  std::string getDebugStr() const;
  std::string getVarStr() const;
  void dump() const;
  void dumpRegions() const;
  void output(std::ostream &os) const { os << getDebugStr(); }
};

inline bool operator==(const Tensor &a, const Tensor &b) { return bridge::equal(a, b); }
inline bool operator!=(const Tensor &a, const Tensor &b) { return !bridge::equal(a, b); }
inline std::ostream &operator<<(std::ostream &out, const Tensor &tensor) {
  tensor.output(out);
  return out;
}

/// Join tensors along a dimension.
Tensor concat(ArrayRef<Tensor> ts, unsigned dimension = 0);
inline Tensor concat(const Tensor &first, const Tensor &second, unsigned dimension = 0) {
  return concat({first, second}, dimension);
}
/// Add one element of the outermost dimension, or of `dimension`.
Tensor append(const Tensor &ts, const Tensor &t, unsigned dimension);
Tensor append(const Tensor &ts, const Tensor &t);

} // namespace poplar

#endif
