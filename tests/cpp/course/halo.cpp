// Heat in a plate, a strip of rows on each tile: before each step a tile gets the border rows of its neighbours.
#ifdef __POPC__
#include <poplar/Vertex.hpp>

using namespace poplar;

class Step : public Vertex {
public:
  Vector<Input<Vector<float>>> in; // with a row above and a row below
  Vector<Output<Vector<float>>> out;

  bool compute() {
    for (unsigned row = 0; row < out.size(); ++row) {
      const unsigned last = out[row].size() - 1;
      out[row][0] = in[row + 1][0];
      out[row][last] = in[row + 1][last];
      for (unsigned column = 1; column < last; ++column)
        out[row][column] = 0.25f * (in[row][column] + in[row + 2][column] + in[row + 1][column - 1] +
                                    in[row + 1][column + 1]);
    }
    return true;
  }
};

#else
#include <iostream>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>

using namespace poplar;
using namespace poplar::program;

static const unsigned TILES = 8, ROWS = 4, COLUMNS = 16, STEPS = 12;

/// The tensors of one time: a strip for each tile with a halo row above and below.
struct Plate {
  std::vector<Tensor> strips;

  Plate(Graph &graph, const std::string &name) {
    for (unsigned tile = 0; tile < TILES; ++tile) {
      strips.push_back(graph.addVariable(FLOAT, {ROWS + 2, COLUMNS}, name + std::to_string(tile)));
      graph.setTileMapping(strips[tile], tile);
      graph.setInitialValue(strips[tile], 0.0f);
    }
    graph.setInitialValue(strips[0][0], 100.0f); // the upper edge is hot
  }
  Tensor interior(unsigned tile) const { return strips[tile].slice(1, ROWS + 1); }
  Sequence exchangeHalos() const {
    Sequence copies("halos");
    for (unsigned tile = 0; tile + 1 < TILES; ++tile) {
      copies.add(Copy(strips[tile][ROWS], strips[tile + 1][0], false, "down"));
      copies.add(Copy(strips[tile + 1][1], strips[tile][ROWS + 1], false, "up"));
    }
    return copies;
  }
};

Sequence step(Graph &graph, const Plate &from, const Plate &to) {
  ComputeSet cs = graph.addComputeSet("step");
  for (unsigned tile = 0; tile < TILES; ++tile) {
    VertexRef v = graph.addVertex(cs, "Step", {{"in", from.strips[tile]}, {"out", to.interior(tile)}});
    graph.setTileMapping(v, tile);
    graph.setPerfEstimate(v, ROWS * COLUMNS * 6);
  }
  return Sequence(from.exchangeHalos(), Execute(cs));
}

int main() {
  IPUModel model("ipu2");
  model.tilesPerIPU = TILES;
  Device device = model.createDevice();
  Graph graph(device.getTarget());
  graph.addCodelets(__FILE__);
  Plate even(graph, "even"), odd(graph, "odd");
  std::vector<Tensor> rows;
  for (unsigned tile = 0; tile < TILES; ++tile)
    rows.push_back(even.interior(tile));
  auto out = graph.addDeviceToHostFIFO("plate", FLOAT, TILES * ROWS * COLUMNS);
  Sequence prog{Repeat{STEPS / 2, Sequence{step(graph, even, odd), step(graph, odd, even)}}, Copy(concat(rows), out)};

  Engine engine(graph, prog, OptionFlags{{"debug.retainDebugInformation", "true"}});
  std::vector<float> plate(TILES * ROWS * COLUMNS);
  engine.connectStream("plate", plate.data());
  engine.load(device);
  engine.run();

  std::vector<float> now((TILES * ROWS + 2) * COLUMNS, 0.0f), next;
  std::fill_n(now.begin(), COLUMNS, 100.0f);
  for (unsigned i = 0; i < STEPS; ++i) {
    next = now;
    for (unsigned row = 1; row <= TILES * ROWS; ++row)
      for (unsigned column = 1; column + 1 < COLUMNS; ++column) {
        const float *centre = &now[row * COLUMNS + column];
        next[row * COLUMNS + column] = 0.25f * (centre[-int(COLUMNS)] + centre[COLUMNS] + centre[-1] + centre[1]);
      }
    now.swap(next);
  }
  const bool equal = std::equal(plate.begin(), plate.end(), now.begin() + COLUMNS);
  std::cout << "middle of rows 1, 5 and 9:";
  for (unsigned row : {0, 4, 8})
    std::cout << ' ' << plate[row * COLUMNS + COLUMNS / 2];
  std::cout << (equal ? "\nas on the host\n" : "\nnot as on the host\n");
  return equal ? 0 : 1;
}
#endif
