#ifndef poplar_IPUModel_hpp
#define poplar_IPUModel_hpp

#include <cstdint>
#include <string>

#include <poplar/Device.hpp>

namespace poplar {

/// A machine of estimates: change fields, then createDevice(). Versions: "ipu1", "ipu2", "ipu21".
class IPUModel {
public:
  enum class RelativeSyncDelayType { AUTO, NO_DELAY };

  explicit IPUModel(char const *IPUVersion = "ipu2"); // src/devices.cpp
  Device createDevice(const OptionFlags &opts = {}, bool accurateHalf = false) const; // src/devices.cpp

  std::string IPUVersion;
  unsigned numIPUs;
  unsigned tilesPerSuperTile;
  unsigned tilesPerIPU;
  unsigned numWorkerContexts;
  unsigned memoryBytesPerTile;
  double tileClockFrequency;
  double exchangeBytesPerCycle;
  unsigned memcpyBytesPerCycle;
  unsigned instructionBytes;
  bool supportsSuperTileSendReceive;
  unsigned interleavedMemoryElementIndex;
  unsigned minIPUSyncDelay;
  unsigned globalSyncCycles;
  RelativeSyncDelayType relativeSyncDelay = RelativeSyncDelayType::AUTO;
  bool compileIPUCode = false;
};

} // namespace poplar

#endif
