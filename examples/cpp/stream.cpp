// STREAM triad on every tile: a[i] = b[i] + scale * c[i], by a codelet of this file.
//
//     make && ./stream 1000
//
// The argument is the number of elements on a tile.
#ifdef __POPC__
#include <poplar/Vertex.hpp>

class Triad : public poplar::MultiVertex {
public:
  poplar::Output<poplar::Vector<float>> a;
  poplar::Input<poplar::Vector<float>> b;
  poplar::Input<poplar::Vector<float>> c;
  float scale;

  bool compute(unsigned worker) {
    for (unsigned i = worker; i < a.size(); i += numWorkers())
      a[i] = b[i] + scale * c[i];
    return true;
  }
};

#else
#include <cstdlib>
#include <iostream>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/Fill.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;

int main(int count, char **arguments) {
  const std::size_t elements = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1000;
  IPUModel model;
  model.tilesPerIPU = 64;
  Device device = model.createDevice();
  const Target &target = device.getTarget();
  Graph graph(target);
  graph.addCodelets(__FILE__);
  popops::addCodelets(graph);

  Sequence prepare, triad;
  std::vector<Tensor> vectors;
  for (const char *name : {"a", "b", "c"}) {
    vectors.push_back(graph.addVariable(FLOAT, {target.getNumTiles(), elements}, name));
    for (unsigned tile = 0; tile < target.getNumTiles(); ++tile)
      graph.setTileMapping(vectors.back()[tile], tile);
    popops::fill(graph, vectors.back(), prepare, float(vectors.size()));
  }
  ComputeSet set = graph.addComputeSet("triad");
  for (unsigned tile = 0; tile < target.getNumTiles(); ++tile) {
    VertexRef vertex = graph.addVertex(
        set, "Triad", {{"a", vectors[0][tile]}, {"b", vectors[1][tile]}, {"c", vectors[2][tile]}, {"scale", 0.5f}});
    graph.setTileMapping(vertex, tile);
  }
  triad.add(Execute(set));
  graph.createHostRead("a", vectors[0]);

  Engine engine(graph, {prepare, triad}, {{"debug.instrument", "true"}, {"debug.retainDebugInformation", "true"}});
  engine.load(device);
  engine.run(0);
  engine.run(1);
  std::vector<float> result(vectors[0].numElements());
  engine.readTensor<float>("a", result);
  const double cycles = engine.getReport().execution().runs().back().cyclesByIpu().front();
  std::cout << "a[0] = " << result.front() << ", " << cycles << " cycles, "
            << 12.0 * result.size() / cycles * target.getTileClockFrequency() / 1e9 << " GB/s\n";
  return result.front() == 3.5f ? 0 : 1;
}
#endif
