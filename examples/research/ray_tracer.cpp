// An image of spheres by ray tracing, some rows on each tile: tiles whose rays meet spheres take longer.
//
//     make ray_tracer && ./ray_tracer 64
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include <poplar/Graph.hpp>

#include "device.hpp"

using namespace poplar;
using namespace poplar::program;

static const unsigned SPHERES = 8;

/// x, y, z and radius of each sphere.
static std::vector<float> scene() {
  const float scale[] = {4, 3, 4, 0.5f}, least[] = {-2, -1.5f, 4, 0.3f};
  std::vector<float> spheres;
  for (unsigned number : numbers(4 * SPHERES)) {
    const unsigned part = spheres.size() % 4;
    spheres.push_back(number / 65536.0f * scale[part] + least[part]);
  }
  return spheres;
}

int main(int count, char **arguments) {
  const unsigned side = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 64;
  Device device = attached();
  const unsigned tiles = std::min(side, device.getTarget().getNumTiles()), rows = side / tiles;
  Graph graph(device.getTarget());
  graph.addCodelets("ray_tracer_codelets.cpp");
  Tensor image = graph.addVariable(FLOAT, {side, side}, "image");
  const std::vector<float> values = scene();
  Tensor spheres = graph.addConstant<float>(FLOAT, {4 * SPHERES}, values, "spheres");
  graph.setTileMapping(spheres, 0);
  ComputeSet trace = graph.addComputeSet("trace");
  for (unsigned tile = 0; tile < tiles; ++tile) {
    Tensor band = image.slice(tile * rows, (tile + 1) * rows);
    graph.setTileMapping(band, tile);
    VertexRef vertex = graph.addVertex(trace, "Trace", {{"spheres", spheres}, {"image", band}});
    graph.setInitialValue(vertex["firstRow"], tile * rows);
    graph.setInitialValue(vertex["height"], side);
    graph.setTileMapping(vertex, tile);
  }
  graph.createHostRead("image", image);
  Engine engine(graph, Execute(trace), counted());
  engine.load(device);
  engine.run(0);
  std::vector<float> pixels(side * side);
  engine.readTensor("image", pixels.data(), pixels.data() + pixels.size());
  for (unsigned row = 0; row < side; row += side / 16) {
    for (unsigned column = 0; column < side; column += side / 32)
      std::putchar(" .:-=+*#%@"[int(9 * pixels[row * side + column])]);
    std::putchar('\n');
  }
  std::printf("mean brightness %.6f, %llu cycles\n",
              std::accumulate(pixels.begin(), pixels.end(), 0.0) / pixels.size(),
              (unsigned long long)cyclesOfLastRun(engine));
}
