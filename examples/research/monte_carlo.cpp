// Pi by random points, counted by all workers of all tiles: work without exchange.
//
//     make monte_carlo && ./monte_carlo 100
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include <poplar/Graph.hpp>

#include "device.hpp"

using namespace poplar;
using namespace poplar::program;

int main(int count, char **arguments) {
  const unsigned trips = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 100;
  Device device = attached();
  const unsigned tiles = device.getTarget().getNumTiles(), workers = device.getTarget().getNumWorkerContexts();
  Graph graph(device.getTarget());
  graph.addCodelets("monte_carlo_codelets.cpp");
  Tensor hits = graph.addVariable(UNSIGNED_INT, {tiles, workers}, "hits");
  ComputeSet points = graph.addComputeSet("points");
  for (unsigned tile = 0; tile < tiles; ++tile) {
    graph.setTileMapping(hits[tile], tile);
    VertexRef vertex = graph.addVertex(points, "CountHits", {{"hits", hits[tile]}});
    graph.setInitialValue(vertex["trips"], trips);
    graph.setInitialValue(vertex["tile"], tile);
    graph.setTileMapping(vertex, tile);
  }
  graph.createHostRead("hits", hits);
  Engine engine(graph, Execute(points), counted());
  engine.load(device);
  engine.run(0);
  std::vector<unsigned> result(tiles * workers);
  engine.readTensor("hits", result.data(), result.data() + result.size());
  const double total = std::accumulate(result.begin(), result.end(), 0ull);
  const unsigned long long drawn = (unsigned long long)trips * result.size();
  std::printf("pi = %.6f from %llu points, %llu cycles\n", 4 * total / drawn, drawn,
              (unsigned long long)cyclesOfLastRun(engine));
}
