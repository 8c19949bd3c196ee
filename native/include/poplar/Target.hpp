#ifndef poplar_Target_hpp
#define poplar_Target_hpp

#include <cstdint>
#include <limits>
#include <vector>

#include <poplar/Enumerations.hpp>
#include <poplar/Handle.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/StringRef.hpp>
#include <poplar/TargetType.hpp>
#include <poplar/Type.hpp>

namespace poplar {

/// What a graph is built for: its IPUs, tiles, memory and widths.
class Target : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  Target() = default;

  /// The kind of device: hardware, a model or a CPU.
  TargetType getTargetType() const;
  StringRef getTargetSystemString() const;
  StringRef getTargetArchString() const;
  unsigned getNumIPUs() const;
  unsigned getTilesPerIPU() const;
  unsigned getNumTiles() const;
  unsigned getNumWorkerContexts() const;
  std::uint64_t getBytesPerTile() const;
  std::uint64_t getMemoryBytes() const;
  double getTileClockFrequency() const;
  unsigned getExchangeBytesPerCycle() const;
  unsigned getMemcpyBytesPerCycle() const;
  unsigned getDataPathWidth() const;
  unsigned getFloatVectorWidth() const;
  unsigned getHalfVectorWidth() const;
  unsigned getQuarterVectorWidth() const;
  unsigned getVectorWidth(const Type &type) const;
  unsigned getTypeSize(const Type &type) const;
  unsigned getAtomicStoreGranularity() const;
  unsigned getNumStrideBits() const;
  /// The largest and the lowest value of a type, cut to what T holds.
  double getTypeLimitsMaxAs(const Type &type) const;
  double getTypeLimitsLowestAs(const Type &type) const;
  template <class T> T getTypeLimitsMaxAs(const Type &type) const { return limit<T>(getTypeLimitsMaxAs(type)); }
  template <class T> T getTypeLimitsLowestAs(const Type &type) const {
    return limit<T>(getTypeLimitsLowestAs(type));
  }
  unsigned getRptCountMax() const;
  unsigned getWeightsPerConvUnit(const Type &type) const;
  unsigned getNumConvUnits(const Type &inputType, const Type &partialType) const;
  unsigned getConvUnitMaxPipelineDepth(const Type &type) const;
  unsigned getConvUnitInputLoadElemsPerCycle(const Type &type) const;
  unsigned getConvUnitCoeffLoadBytesPerCycle() const;
  unsigned getFp8InFp16OutConvUnitsPerTile() const;
  unsigned getFp16InFp16OutConvUnitsPerTile() const;
  unsigned getFp16InFp32OutConvUnitsPerTile() const;
  unsigned getFp32InFp32OutConvUnitsPerTile() const;
  unsigned getFp8ConvUnitMaxPipelineDepth() const;
  unsigned getFp16ConvUnitMaxPipelineDepth() const;
  unsigned getFp32ConvUnitMaxPipelineDepth() const;
  unsigned getFp8ConvUnitInputLoadElemsPerCycle() const;
  unsigned getFp16ConvUnitInputLoadElemsPerCycle() const;
  unsigned getFp32ConvUnitInputLoadElemsPerCycle() const;
  unsigned getNumTilesPerXBContext() const;
  unsigned getNumContextsPerXB() const;
  unsigned getTileHostExchangeXB(unsigned tile) const;
  unsigned getTileHostExchangeContext(unsigned tile) const;
  unsigned getTileHostExchangeContextPosition(unsigned tile) const;
  unsigned getTilesPerSharedExchangeBus() const;
  bool supportsExchangeBusSharing() const;
  unsigned getMaxIPUSyncDelay() const;
  unsigned getMinIPUSyncDelay() const;
  unsigned getGlobalSyncCycles() const;
  const std::vector<unsigned> getMemoryElementOffsets() const;
  unsigned getInterleavedMemoryElementIndex() const;
  unsigned getIpuLinkDomainSize() const;
  unsigned getInstanceSize() const;
  IpuLinkConfiguration getIpuLinkConfiguration() const;
  IpuLinkTopology getIpuLinkTopology() const;
  bool getGatewayMode() const;
  std::size_t hash() const { return bridge::hash(*this); }
  Target createVirtualTarget(unsigned numIPUs, unsigned tilesPerIPU) const;
  static Target createCPUTarget(bool accurateHalf = false, unsigned numIPUs = 1);
  static Target createIPUTarget(unsigned numIPUs, StringRef systemType, const OptionFlags &opts = {});
  static Target createIPUTarget(unsigned numIPUs, unsigned tilesPerIPU, StringRef systemType,
                                const OptionFlags &opts = {});

private:
  template <class T> static T limit(double value) {
    using Limits = std::numeric_limits<T>;
    return value >= static_cast<double>(Limits::max())      ? Limits::max()
           : value <= static_cast<double>(Limits::lowest()) ? Limits::lowest()
                                                            : static_cast<T>(value);
  }
};

inline bool operator==(const Target &a, const Target &b) { return bridge::equal(a, b); }
inline bool operator!=(const Target &a, const Target &b) { return !bridge::equal(a, b); }

} // namespace poplar

#endif
