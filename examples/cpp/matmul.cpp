// A product of two matrices with PopLibs, fed by a stream that prefetches.
//
//     make && ./matmul
#include <algorithm>
#include <iostream>
#include <memory>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>

using namespace poplar;
using namespace poplar::program;

/// Gives batch after batch of rows, all of one number.
class Batches : public StreamCallback {
public:
  explicit Batches(std::size_t elements) : elements(elements) {}
  Result prefetch(void *p) override {
    fetch(p);
    return Result::Success;
  }
  void fetch(void *p) override { std::fill_n(static_cast<float *>(p), elements, float(batch + 1)); }
  void complete() override { ++batch; }

private:
  std::size_t elements;
  unsigned batch = 0;
};

int main() {
  const std::size_t rows = 16, columns = 32, batches = 3;
  IPUModel model;
  model.tilesPerIPU = 64;
  Device device = model.createDevice();
  Graph graph(device);
  poplin::addCodelets(graph);

  Tensor input = poplin::createMatMulInputLHS(graph, FLOAT, {rows, columns}, {columns, 2}, "input");
  Tensor weights = poplin::createMatMulInputRHS(graph, FLOAT, {rows, columns}, {columns, 2}, "weights");
  graph.setInitialValue(weights, 0.5f);
  DataStream in = graph.addHostToDeviceFIFO("in", FLOAT, input.numElements());
  DataStream out = graph.addDeviceToHostFIFO("out", FLOAT, rows * 2);
  Sequence step{Copy(in, input)};
  Tensor product = poplin::matMul(graph, input, weights, step, FLOAT, "product");
  step.add(Copy(product, out));

  Engine engine(graph, Repeat(batches, step));
  std::vector<float> sums;
  engine.connectStreamToCallback("in", std::unique_ptr<Batches>(new Batches(input.numElements())));
  engine.connectStreamToCallback("out", [&](void *p) { sums.push_back(*static_cast<float *>(p)); });
  engine.load(device);
  engine.run();
  for (float sum : sums)
    std::cout << sum << '\n'; // columns * 0.5 * number of the batch
  return sums == std::vector<float>{16, 32, 48} ? 0 : 1;
}
