#ifndef poplar_DeviceManager_hpp
#define poplar_DeviceManager_hpp

#include <vector>

#include <poplar/Device.hpp>

namespace poplar {

/// Lists the devices of the system; POPVISION_IPUS says how many IPUs it has.
class DeviceManager : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  DeviceManager();
  static DeviceManager createDeviceManager();
  std::size_t getNumDevices() const;
  std::vector<Device> getDevices() const;
  std::vector<Device> getDevices(TargetType type, unsigned requiredNumIPUs, const OptionFlags &opts = {}) const;
  Device getDevice(unsigned deviceId, const OptionFlags &opts = {}) const;
};

} // namespace poplar

#endif
