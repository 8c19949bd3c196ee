// Collectives of two replicas, under both libraries' names, and tensors that go to another IPU.
#include "results.hpp"

#include <algorithm>

#include <gcl/Collectives.hpp>
#include <gcl/TileAllocation.hpp>
#include <popops/Collectives.hpp>
#include <popops/ElementWise.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
using namespace poplar::program;

namespace {

/// Prints what each replica has received: "name: v v" of the first, then of the second.
class Received {
public:
  Received(Graph &graph, Sequence &prog) : graph(graph), prog(prog) {}

  void read(const std::string &name, const Tensor &t) {
    DataStream out = graph.addDeviceToHostFIFO(name, FLOAT, t.numElements());
    prog.add(Copy(t.flatten(), out));
    for (unsigned replica = 0; replica < 2; ++replica)
      values[name].push_back(std::vector<float>(t.numElements()));
  }

  void print(Engine &engine, const Device &device) {
    for (auto &output : values)
      for (unsigned replica = 0; replica < 2; ++replica) {
        std::vector<float> &memory = output.second[replica];
        engine.connectStreamToCallback(output.first, replica, [&memory](void *p) {
          std::copy_n(static_cast<float *>(p), memory.size(), memory.begin());
        });
      }
    engine.load(device);
    engine.run();
    std::cout << std::setprecision(9);
    for (const auto &output : values) {
      std::cout << output.first << ':';
      for (const std::vector<float> &memory : output.second)
        for (float value : memory)
          std::cout << ' ' << value;
      std::cout << '\n';
    }
  }

private:
  Graph &graph;
  Sequence &prog;
  std::map<std::string, std::vector<std::vector<float>>> values;
};

void replicas() {
  Device device = small_device(2);
  Graph graph(device.getTarget(), replication_factor(2));
  Sequence prog;
  Received received(graph, prog);
  Tensor index = graph.addReplicationIndexConstant();
  graph.setTileMapping(index, 0);
  Tensor numbers = graph.addConstant<float>(FLOAT, {4}, {1, 2, 3, 4});
  poputil::mapTensorLinearly(graph, numbers);
  Tensor data = popops::add(graph, numbers, popops::cast(graph, index.reshape({1}), FLOAT, prog), prog);
  const auto add = gcl::CollectiveOperator::ADD;
  received.read("allReduce", gcl::allReduceCrossReplica(graph, data, add, prog));
  received.read("reduceScatter", gcl::reduceScatterCrossReplica(graph, data, popops::CollectiveOperator::MAX, prog));
  received.read("allGather", gcl::allGatherCrossReplica(graph, data, prog));
  received.read("allToAll", gcl::allToAllCrossReplica(graph, data.reshape({2, 2}), prog));
  received.read("broadcast", gcl::broadcastCrossReplica(graph, data, prog));
  received.read("replicatedAllReduce", popops::replicatedAllReduce(graph, data, popops::Operation::MUL, prog));
  received.read("replicatedReduceScatter", popops::replicatedReduceScatter(graph, data, add, prog));
  received.read("replicatedAllGather", popops::replicatedAllGather(graph, data, prog));
  Tensor output = graph.clone(data), changed = graph.clone(data), again = graph.clone(data);
  popops::replicatedAllReduceWithOutput(graph, data, output, popops::Operation::MIN, prog);
  received.read("replicatedAllReduceWithOutput", output);
  prog.add(Copy(data, changed));
  prog.add(Copy(data, again));
  gcl::allReduceInPlaceCrossReplica(graph, changed, gcl::CollectiveOperator::MEAN, prog);
  popops::replicatedAllReduceInPlace(graph, again, add, prog);
  received.read("allReduceInPlace", concat(changed, again));
  received.read("operators", concat({popops::replicatedAllReduce(graph, data, add, prog),
                                     popops::replicatedReduceScatter(graph, data, popops::Operation::MAX, prog)}));
  popops::replicatedAllReduceWithOutput(graph, data, output, add, prog);
  popops::replicatedAllReduceInPlace(graph, output, popops::Operation::ADD, prog);
  received.read("operators with outputs", output);
  const gcl::CommGroup pair(gcl::CommGroupType::ORTHOGONAL, 2), alone(gcl::CommGroupType::CONSECUTIVE, 1);
  received.read("groups", concat(gcl::allReduceCrossReplica(graph, data, add, prog, pair, "sum"),
                                 gcl::allReduceCrossReplica(graph, data, add, prog, alone)));
  received.read("parts of groups", concat({gcl::reduceScatterCrossReplica(graph, data, add, prog, pair),
                                           gcl::allGatherCrossReplica(graph, data, prog, alone)[0],
                                           gcl::allToAllCrossReplica(graph, data.reshape({1, 4}), prog, alone)[0],
                                           gcl::broadcastCrossReplica(graph, data, prog, alone, "own")}));
  gcl::allReduceInPlaceCrossReplica(graph, again, add, prog, alone);
  assert(gcl::perIPUTiles(graph, 0, gcl::getMinIoTiles(graph)).size() == gcl::getMinIoTiles(graph));
  Engine engine(graph, prog);
  received.print(engine, device);
}

void copies() {
  Device device = small_device(2);
  Graph graph(device);
  Results results(graph);
  Tensor t = results.operand({6}), source, destination;
  results.read("copyToIpu", poputil::copyToIpu(graph, t, results.prog, 1));
  Tensor there = poputil::createIpuCopy(graph, t, 1, source, destination, "copy");
  results.prog.add(Copy(source, destination));
  results.read("createIpuCopy", there);
  results.read("cloneToIpu", results.filled(poputil::cloneToIpu(graph, t, 1), t));
  results.print(device);
}

} // namespace

int main() {
  replicas();
  copies();
}
