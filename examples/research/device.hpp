// What the programs of this folder share: the device, numbers that Python makes alike, and the cycles of a run.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>

/// Options of every engine: hardware counts, so that the report has the cycles of each run.
inline poplar::OptionFlags counted() {
  return {{"debug.instrument", "true"}, {"debug.retainDebugInformation", "true"}};
}

/// A simulated IPU.
inline poplar::Device attached() {
  for (auto &device : poplar::DeviceManager::createDeviceManager().getDevices(poplar::TargetType::IPU, 1))
    if (device.attach())
      return std::move(device);
  throw std::runtime_error("All simulated IPUs are in use; end a program that has one, or set POPVISION_IPUS higher.");
}

/// `count` numbers below 2^16 of a linear congruential generator.
inline std::vector<unsigned> numbers(std::size_t count, unsigned seed = 1) {
  std::vector<unsigned> drawn(count);
  std::uint32_t state = seed;
  for (unsigned &number : drawn) {
    state = state * 1664525u + 1013904223u;
    number = state >> 16;
  }
  return drawn;
}

/// Simulated device cycles of the run that ended last.
inline std::uint64_t cyclesOfLastRun(poplar::Engine &engine) {
  return engine.getReport().execution().runs().back().cyclesByIpu().front();
}
