// Enumerations whose members have the same names in the simulator.
#ifndef poplar_Enumerations_hpp
#define poplar_Enumerations_hpp

namespace poplar {

enum class VariableMappingMethod { NONE, LINEAR };
enum class UpsampleMethod { REPEAT };
enum class ReplicatedStreamMode { REPLICATE, BROADCAST };
enum class DataStreamType { HostToDeviceFIFO, DeviceToHostFIFO, HostToDeviceBuffer, DeviceToHostBuffer };
enum class TensorCloneMethod {
  PRESERVE_ORDER_AND_ALIASES,
  CREATE_NEW_ORDER,
  PRESERVE_ORDER_UNLESS_ALIASES,
  GATHER_AND_PRESERVE_TILE_ORDER_AND_ALIASES
};
enum class TensorCloneDuplicationMethod { DUPLICATE_BY_OUTER_DIMENSION, DUPLICATE_BY_TILE_CONTIGUOUS_REGION };
enum class SerializationFormat { Binary, JSON };
enum class FunctionBufferMappingType { LOCAL, REMOTE };
enum class SyncType { INTERNAL, EXTERNAL, GLOBAL };
enum class CodeletFileType { Auto, CppSource, CSource, AsmSource, PreprocessedAsmSource, IrSource, Object };
enum class IpuLinkConfiguration { Default, SlidingWindow, BarleyTwist };
enum class IpuLinkTopology { Mesh, Torus, Line };

bool isHostToDevice(DataStreamType type);
bool isDeviceToHost(DataStreamType type);
bool isRemoteBuffer(DataStreamType type);

/// How often a graph is replicated.
struct replication_factor {
  explicit replication_factor(unsigned value) : value(value) {}
  explicit operator unsigned() const { return value; }
  unsigned value;
};

} // namespace poplar

#endif
