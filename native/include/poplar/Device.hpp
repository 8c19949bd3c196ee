#ifndef poplar_Device_hpp
#define poplar_Device_hpp

#include <map>
#include <string>
#include <vector>

#include <poplar/Target.hpp>

namespace poplar {

/// A device that can run engines.
class Device : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  Device() = default;

  unsigned getId() const;
  const Target &getTarget() const; // src/devices.cpp
  bool attach() const;
  void detach() const;
  bool isAttached() const;
  void reset() const;
  std::map<std::string, std::string> getAttributes() const;
  std::vector<int> getDriverIDs() const;
  unsigned getNumIPUs() const;
  bool supportsRemoteBuffers() const;
  bool hasRemoteBuffers() const;
  Device createVirtualDevice(unsigned tilesPerIPU);
  static Device createCPUDevice(unsigned numberOfTiles = 1);

private:
  mutable Target target;
};

inline bool operator==(const Device &a, const Device &b) { return bridge::equal(a, b); }
inline bool operator!=(const Device &a, const Device &b) { return !bridge::equal(a, b); }

} // namespace poplar

#endif
