// What stands in a graph beside tensors: compute sets, vertices and their fields, streams, remote buffers, functions.
#ifndef poplar_GraphElements_hpp
#define poplar_GraphElements_hpp

#include <cstdint>
#include <string>

#include <poplar/Enumerations.hpp>
#include <poplar/Handle.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/Type.hpp>

namespace poplar {

/// Vertices that run at the same time.
class ComputeSet : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  ComputeSet() = default;
  unsigned getId() const;
};

/// A field of a vertex, or an element of one.
class FieldRef : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  FieldRef() = default;
  FieldRef operator[](std::size_t index) const;
  std::size_t getIndex() const;
  bool isIndexed() const;
};

/// A vertex of a compute set.
class VertexRef : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  VertexRef() = default;
  FieldRef operator[](StringRef fieldName) const;
  unsigned getId() const;
};
inline bool operator==(const VertexRef &a, const VertexRef &b) { return bridge::equal(a, b); }
inline bool operator!=(const VertexRef &a, const VertexRef &b) { return !bridge::equal(a, b); }

/// Cycles of one run of a vertex and its floating-point operations.
struct VertexPerfEstimate {
  VertexPerfEstimate() = default;
  VertexPerfEstimate(std::uint64_t cycles, std::uint64_t flops = 0) : cycles(cycles), flops(flops) {}
  std::uint64_t cycles = 0;
  std::uint64_t flops = 0;
};

/// A stream between the host and the device.
class DataStream : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  DataStream() = default;
  std::string handle() const;
  std::size_t numElements() const;
  Type elementType() const;
  ReplicatedStreamMode replicatedMode() const;
  unsigned replicationFactor() const;
  DataStreamType type() const;
};
inline bool operator==(const DataStream &a, const DataStream &b) { return bridge::equal(a, b); }
inline bool operator!=(const DataStream &a, const DataStream &b) { return !bridge::equal(a, b); }

/// Rows of elements in memory outside the IPU.
class RemoteBuffer : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  RemoteBuffer() = default;
  std::string handle() const;
  std::size_t numElements() const;
  std::size_t getRepeats() const;
  Type elementType() const;
  bool isRearrangeOnHost() const;
  bool isOptimisedForMemory() const;
};
inline bool operator==(const RemoteBuffer &a, const RemoteBuffer &b) { return bridge::equal(a, b); }
inline bool operator!=(const RemoteBuffer &a, const RemoteBuffer &b) { return !bridge::equal(a, b); }

/// A program that several places call.
class Function : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  Function() = default;
  unsigned getId() const;
};
inline bool operator==(const Function &a, const Function &b) { return bridge::equal(a, b); }
inline bool operator!=(const Function &a, const Function &b) { return !bridge::equal(a, b); }

/// Where the code of a function is stored.
class FunctionBuffer : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  FunctionBuffer() = default;
};

/// Code on the host that a program calls.
class HostFunction : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  HostFunction() = default;
  std::string handle() const;
};

} // namespace poplar

#endif
