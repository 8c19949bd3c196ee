// Sample sort: tiles sort their keys, agree on splitters by samples, and exchange buckets.
//
//     make sample_sort && ./sample_sort
//
// Exchanges of an IPU are compiled, so a part of a bucket has room for all keys of a tile, and its size goes along.
#include <algorithm>
#include <cstdio>
#include <string>

#include <poplar/Graph.hpp>

#include "device.hpp"

using namespace poplar;
using namespace poplar::program;

static const unsigned TILES = 16, KEYS = 64;

/// A tensor with a row on each tile.
static Tensor onTiles(Graph &graph, const std::string &name, std::vector<std::size_t> shape) {
  shape.insert(shape.begin(), TILES);
  Tensor tensor = graph.addVariable(UNSIGNED_INT, shape, name);
  for (unsigned tile = 0; tile < TILES; ++tile)
    graph.setTileMapping(tensor[tile], tile);
  return tensor;
}

static void add(Graph &graph, ComputeSet step, unsigned tile, const std::string &codelet,
                const std::vector<std::pair<std::string, Tensor>> &fields) {
  VertexRef vertex = graph.addVertex(step, codelet);
  for (const auto &field : fields)
    graph.connect(vertex[field.first], field.second);
  graph.setTileMapping(vertex, tile);
}

int main() {
  Device device = attached();
  Graph graph(device.getTarget());
  graph.addCodelets("sample_sort_codelets.cpp");
  Tensor keys = onTiles(graph, "keys", {KEYS}), samples = onTiles(graph, "samples", {TILES});
  Tensor parts = onTiles(graph, "parts", {TILES, KEYS}), sizes = onTiles(graph, "sizes", {TILES});
  Tensor buckets = onTiles(graph, "buckets", {TILES * KEYS}), filled = onTiles(graph, "filled", {});
  Tensor allSamples = graph.addVariable(UNSIGNED_INT, {TILES * TILES}, "allSamples");
  Tensor splitters = graph.addVariable(UNSIGNED_INT, {TILES - 1}, "splitters");
  graph.setTileMapping(allSamples, 0);
  graph.setTileMapping(splitters, 0);

  ComputeSet sort = graph.addComputeSet("sort"), choose = graph.addComputeSet("choose");
  ComputeSet cut = graph.addComputeSet("cut"), join = graph.addComputeSet("join");
  add(graph, choose, 0, "ChooseSplitters", {{"samples", allSamples}, {"splitters", splitters}});
  for (unsigned tile = 0; tile < TILES; ++tile) {
    add(graph, sort, tile, "SortKeys", {{"keys", keys[tile]}, {"samples", samples[tile]}});
    add(graph, cut, tile, "Cut",
        {{"keys", keys[tile]}, {"splitters", splitters}, {"parts", parts[tile]}, {"sizes", sizes[tile]}});
    add(graph, join, tile, "Join",
        {{"parts", parts.slice(tile, tile + 1, 1).squeeze({1})},
         {"sizes", sizes.slice(tile, tile + 1, 1).squeeze({1})},
         {"bucket", buckets[tile]},
         {"size", filled[tile]}});
  }
  graph.createHostWrite("keys", keys);
  graph.createHostRead("buckets", buckets);
  graph.createHostRead("filled", filled);
  Sequence program({Execute(sort), Copy(samples.flatten(), allSamples), Execute(choose), Execute(cut), Execute(join)});
  Engine engine(graph, program, counted());
  engine.load(device);

  std::vector<unsigned> drawn = numbers(TILES * KEYS), bucket(TILES * TILES * KEYS), size(TILES), result;
  engine.writeTensor("keys", drawn.data(), drawn.data() + drawn.size());
  engine.run(0);
  engine.readTensor("buckets", bucket.data(), bucket.data() + bucket.size());
  engine.readTensor("filled", size.data(), size.data() + size.size());
  for (unsigned tile = 0; tile < TILES; ++tile)
    result.insert(result.end(), bucket.begin() + tile * TILES * KEYS, bucket.begin() + tile * TILES * KEYS + size[tile]);
  std::sort(drawn.begin(), drawn.end());
  std::printf("%zu keys %s, largest bucket %u, %llu cycles\n", result.size(), result == drawn ? "sorted" : "WRONG",
              *std::max_element(size.begin(), size.end()), (unsigned long long)cyclesOfLastRun(engine));
}
