// Callbacks of streams and host functions: they run without a lock, and what they throw arrives at run().
#include <condition_variable>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
using namespace poplar::program;

struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Counter : public StreamCallback {
public:
  explicit Counter(std::vector<float> &seen) : seen(seen) {}
  Result prefetch(void *p) override {
    fetch(p);
    return Result::Success;
  }
  void fetch(void *p) override { static_cast<float *>(p)[0] = next++; }
  void complete() override { seen.push_back(next); }
  void invalidatePrefetched() override { next -= 1; }

private:
  std::vector<float> &seen;
  float next = 1;
};

int main() {
  Device device = IPUModel().createDevice();
  Graph graph(device);
  Tensor t = graph.addVariable(FLOAT, {1}, VariableMappingMethod::LINEAR, "t");
  DataStream in = graph.addHostToDeviceFIFO("in", FLOAT, 1);
  DataStream out = graph.addDeviceToHostFIFO("out", FLOAT, 1);
  HostFunction twice = graph.addHostFunction("twice", {Graph::HostFunctionArgument(FLOAT, 1)}, {{FLOAT, 1}});
  Sequence round{Copy(in, t), Call(twice, {t}, {t}), Copy(t, out)};
  Engine engine(graph, {Repeat(3, round), Loop(round)});

  std::vector<float> completed, received;
  engine.connectStreamToCallback("in", std::unique_ptr<Counter>(new Counter(completed)));
  engine.connectHostFunction("twice", 0, [](ArrayRef<const void *> inputs, ArrayRef<void *> outputs) {
    static_cast<float *>(outputs[0])[0] = 2 * static_cast<const float *>(inputs[0])[0];
  });
  engine.connectStreamToCallback("out", [&](void *p) { received.push_back(*static_cast<float *>(p)); });
  engine.load(device);
  engine.run(0);
  assert((received == std::vector<float>{2, 4, 6}) && completed.size() == 3);

  engine.connectStreamToCallback("out", [](void *) { throw Refusal("not today"); });
  try {
    engine.run(0);
    assert(false);
  } catch (const Refusal &refusal) {
    std::cout << refusal.what() << '\n';
  }

  // The callback waits for a thread that calls into Poplar.
  engine.load(device);
  bool stopped = false;
  engine.connectStreamToCallback("out", [&](void *) {
    if (!stopped)
      std::thread([&] { engine.stop(); }).join();
    stopped = true;
  });
  engine.run(1);
  assert(stopped);
  std::cout << "stopped\n";
}
