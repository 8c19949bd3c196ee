// Heat in a plate, a strip of rows on each tile: before each step a tile gets the border rows of its neighbours.
//
//     make stencil && ./stencil
#include <cstdio>
#include <string>

#include <poplar/Graph.hpp>

#include "device.hpp"

using namespace poplar;
using namespace poplar::program;

static const unsigned ROWS = 4, COLUMNS = 64, STEPS = 20;

/// The plate at one time: a strip for each tile, with a row above and a row below.
struct Plate {
  std::vector<Tensor> strips;

  Plate(Graph &graph, const std::string &name) {
    for (unsigned tile = 0; tile < graph.getTarget().getNumTiles(); ++tile) {
      strips.push_back(graph.addVariable(FLOAT, {ROWS + 2, COLUMNS}, name + std::to_string(tile)));
      graph.setTileMapping(strips[tile], tile);
      graph.setInitialValue(strips[tile], 0.0f);
    }
    graph.setInitialValue(strips[0][0], 100.0f); // the upper edge is hot
  }

  Tensor inside(unsigned tile) const { return strips[tile].slice(1, ROWS + 1); }

  /// A program that copies border rows to the neighbours.
  Sequence exchanged() const {
    Sequence copies;
    for (unsigned tile = 0; tile + 1 < strips.size(); ++tile) {
      copies.add(Copy(strips[tile][ROWS], strips[tile + 1][0]));
      copies.add(Copy(strips[tile + 1][1], strips[tile][ROWS + 1]));
    }
    return copies;
  }
};

/// One step of time.
static Sequence step(Graph &graph, const Plate &before, const Plate &after) {
  ComputeSet cs = graph.addComputeSet("step");
  for (unsigned tile = 0; tile < before.strips.size(); ++tile)
    graph.setTileMapping(graph.addVertex(cs, "Step", {{"in", before.strips[tile]}, {"out", after.inside(tile)}}), tile);
  return Sequence({before.exchanged(), Execute(cs)});
}

int main() {
  Device device = attached();
  Graph graph(device.getTarget());
  graph.addCodelets("stencil_codelets.cpp");
  Plate even(graph, "even"), odd(graph, "odd");
  graph.createHostRead("first", even.inside(0));
  Engine engine(graph, Repeat(STEPS / 2, Sequence({step(graph, even, odd), step(graph, odd, even)})), counted());
  engine.load(device);
  engine.run(0);
  std::vector<float> plate(ROWS * COLUMNS);
  engine.readTensor("first", plate.data(), plate.data() + plate.size());
  std::printf("below the hot edge:");
  for (unsigned row = 0; row < ROWS; ++row)
    std::printf(" %.4f", plate[row * COLUMNS + COLUMNS / 2]);
  std::printf("; %llu cycles\n", (unsigned long long)cyclesOfLastRun(engine));
}
