// Cycle counters that a program reads, in both forms of the calls.
#include <iostream>

#include <poplar/CycleCount.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>

using namespace poplar;
using namespace poplar::program;

int main() {
  for (Device &device : DeviceManager().getDevices(TargetType::IPU, 1)) {
    if (!device.attach())
      continue;
    Graph graph(device);
    popops::addCodelets(graph);
    Tensor t = graph.addVariable(FLOAT, {1000}, VariableMappingMethod::LINEAR, "t");
    Sequence timed;
    popops::addInPlace(graph, t, t, timed, "twice");
    std::vector<Tensor> stamps = {cycleCount(graph, timed, 0, SyncType::INTERNAL, "count")};
    stamps.push_back(cycleStamp(graph, timed, 1, SyncType::EXTERNAL));
    stamps.push_back(cycleStamp(graph, timed, 2, "timer"));
    for (const Tensor &stamp : cycleStamp(graph, timed, std::vector<unsigned>{0, 3}, SyncType::INTERNAL))
      stamps.push_back(stamp);
    Sequence whole(timed);
    stamps.push_back(cycleCount(graph, whole, 3, "whole"));
    graph.createHostRead("stamps", concat(stamps));
    Engine engine(graph, whole);
    engine.load(device);
    engine.run();
    std::vector<unsigned> words(2 * stamps.size());
    engine.readTensor("stamps", words.data(), words.data() + words.size());
    for (unsigned word : words)
      std::cout << word << " ";
    device.detach();
    break;
  }
  try {
    Graph graph(IPUModel().createDevice());
    Sequence prog;
    cycleCount(graph, prog, 0, SyncType::INTERNAL);
  } catch (const poplar_error &error) {
    std::cout << error.what() << "\n";
  }
}
