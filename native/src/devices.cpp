#include "tables_poplar.hpp"

#include <poplar/DeviceManager.hpp>
#include <poplar/IPUModel.hpp>

namespace poplar {

const Target &Device::getTarget() const {
  static bridge::Name name{"getTarget"};
  if (!target.share())
    target = bridge::method<Target>(*this, name);
  return target;
}

namespace {

/// The simulator's model object with these fields, each read or written by `visit(name, field)`.
template <class Model, class Visit> void each_field(Model &model, Visit visit) {
  visit("IPUVersion", model.IPUVersion);
  visit("numIPUs", model.numIPUs);
  visit("tilesPerSuperTile", model.tilesPerSuperTile);
  visit("tilesPerIPU", model.tilesPerIPU);
  visit("numWorkerContexts", model.numWorkerContexts);
  visit("memoryBytesPerTile", model.memoryBytesPerTile);
  visit("tileClockFrequency", model.tileClockFrequency);
  visit("exchangeBytesPerCycle", model.exchangeBytesPerCycle);
  visit("memcpyBytesPerCycle", model.memcpyBytesPerCycle);
  visit("instructionBytes", model.instructionBytes);
  visit("supportsSuperTileSendReceive", model.supportsSuperTileSendReceive);
  visit("interleavedMemoryElementIndex", model.interleavedMemoryElementIndex);
  visit("minIPUSyncDelay", model.minIPUSyncDelay);
  visit("globalSyncCycles", model.globalSyncCycles);
  visit("relativeSyncDelay", model.relativeSyncDelay);
  visit("compileIPUCode", model.compileIPUCode);
}

bridge::Place model_class{"simulator.poplar", "IPUModel"};

} // namespace

IPUModel::IPUModel(char const *IPUVersion) {
  bridge::locked([&] {
    const bridge::py::object model = bridge::call(model_class.get(), StringRef(IPUVersion));
    each_field(*this, [&](const char *name, auto &field) {
      field = bridge::Convert<std::decay_t<decltype(field)>>::from(model.attr(name));
    });
  });
}

Device IPUModel::createDevice(const OptionFlags &opts, bool accurateHalf) const {
  static bridge::Name name{"createDevice"};
  return bridge::locked([&] {
    const bridge::py::object model = bridge::call(model_class.get(), IPUVersion);
    each_field(*this, [&](const char *field_name, const auto &field) { model.attr(field_name) = bridge::to(field); });
    return bridge::result<Device>(bridge::call_method(model, name, opts, accurateHalf));
  });
}

} // namespace poplar
