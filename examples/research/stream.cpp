// STREAM's triad on every tile, element by element and in pairs: the bandwidth of tile memory.
//
//     make stream && ./stream 3000
#include <cstdio>
#include <cstdlib>

#include <poplar/Graph.hpp>

#include "device.hpp"

using namespace poplar;
using namespace poplar::program;

int main(int count, char **arguments) {
  const std::size_t elements = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 3000;
  Device device = attached();
  const unsigned tiles = device.getTarget().getNumTiles();
  Graph graph(device.getTarget());
  graph.addCodelets("stream_codelets.cpp");
  std::vector<Tensor> vectors;
  for (const char *name : {"a", "b", "c"})
    vectors.push_back(graph.addVariable(FLOAT, {tiles, elements}, name));
  ComputeSet pairs = graph.addComputeSet("pairs"), single = graph.addComputeSet("single");
  for (unsigned tile = 0; tile < tiles; ++tile) {
    for (const Tensor &vector : vectors)
      graph.setTileMapping(vector[tile], tile);
    for (bool paired : {false, true}) {
      VertexRef vertex = graph.addVertex(paired ? pairs : single, paired ? "TriadOfPairs" : "Triad",
                                         {{"a", vectors[0][tile]}, {"b", vectors[1][tile]}, {"c", vectors[2][tile]}});
      graph.setInitialValue(vertex["scale"], 0.5f);
      if (paired)
        graph.setInitialValue(vertex["size"], unsigned(elements));
      graph.setTileMapping(vertex, tile);
    }
  }
  graph.setInitialValue(vectors[1], 3.0f);
  graph.setInitialValue(vectors[2], 4.0f);
  graph.createHostRead("a", vectors[0]);
  Engine engine(graph, {Execute(single), Execute(pairs)}, counted());
  engine.load(device);
  const double clock = device.getTarget().getTileClockFrequency();
  const char *names[] = {"single", "pairs"};
  for (unsigned program = 0; program < 2; ++program) {
    engine.run(program);
    std::vector<float> result(tiles * elements);
    engine.readTensor("a", result.data(), result.data() + result.size());
    const std::uint64_t cycles = cyclesOfLastRun(engine);
    std::printf("%s: a[0] = %g, %llu cycles, %.0f GB/s\n", names[program], result[0], (unsigned long long)cycles,
                12.0 * result.size() / cycles * clock / 1e9);
  }
}
