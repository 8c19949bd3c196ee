// Batches that the host prepares while the IPU computes: a callback with prefetch, complete and invalidatePrefetched.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

using namespace poplar;
using namespace poplar::program;

struct Counts {
  int prefetched = 0, fetched = 0, completed = 0, dropped = 0;
};

/// Batch i holds i + 1 in each element; there are `batches`.
class Batches final : public StreamCallback {
public:
  Batches(unsigned elements, int batches, Counts &counts) : elements(elements), batches(batches), counts(counts) {}

  Result prefetch(void *__restrict p) noexcept override {
    if (ahead == batches)
      return Result::NotAvailable;
    fill(p, ahead++);
    ++counts.prefetched;
    return Result::Success;
  }
  void fetch(void *__restrict p) noexcept override {
    fill(p, done);
    ahead = std::max(ahead, done + 1);
    ++counts.fetched;
  }
  void complete() noexcept override {
    ++done;
    ++counts.completed;
  }
  void invalidatePrefetched() noexcept override {
    counts.dropped += ahead - done;
    ahead = done;
  }

private:
  void fill(void *p, int batch) const { std::fill_n(static_cast<float *>(p), elements, batch + 1.0f); }

  const unsigned elements;
  const int batches;
  Counts &counts;
  int ahead = 0, done = 0;
};

int main() {
  const unsigned elements = 24;
  const int batches = 6;
  auto manager = DeviceManager::createDeviceManager();
  auto device = manager.getDevice(0);
  device.attach();
  Graph graph(device);
  popops::addCodelets(graph);

  Tensor batch = graph.addVariable(FLOAT, {elements}, VariableMappingMethod::LINEAR, "batch");
  Tensor total = graph.addVariable(FLOAT, {}, "total");
  graph.setTileMapping(total, 0);
  graph.setInitialValue(total, 0.0f);
  DataStream in = graph.addHostToDeviceFIFO("batches", FLOAT, elements, ReplicatedStreamMode::REPLICATE,
                                            {{"bufferingDepth", "2"}});
  DataStream out = graph.addDeviceToHostFIFO("totals", FLOAT, 1);
  Sequence body{Copy(in, batch)};
  popops::reduceWithOutput(graph, batch, total, {0}, {popops::Operation::ADD, true}, body, "sum");
  body.add(Copy(total, out));

  Engine engine(graph, Repeat(batches / 2, body), {{"exchange.enablePrefetch", "true"}});
  Counts counts;
  std::vector<float> totals;
  engine.connectStreamToCallback(in, std::unique_ptr<Batches>(new Batches(elements, batches, counts)));
  engine.connectStreamToCallback(out, [&totals](void *p) {
    float sum;
    std::memcpy(&sum, p, sizeof sum);
    totals.push_back(sum);
  });
  engine.load(device);
  engine.run();
  engine.run();

  for (float sum : totals)
    std::cout << sum << ' ';
  std::cout << "\nprefetched " << counts.prefetched << ", dropped " << counts.dropped << ", completed "
            << counts.completed << '\n';
  return counts.completed == batches && counts.prefetched + counts.fetched - counts.dropped == batches ? 0 : 1;
}
