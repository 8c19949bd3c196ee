// The chapter of Engine: each public function and overload at least once.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/MetadataCreation.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
using namespace poplar::program;

namespace {

Device device() {
  IPUModel model;
  model.tilesPerIPU = 4;
  return model.createDevice();
}

/// A graph that copies "in" to "out" by way of a tensor that the host writes and reads too.
struct Copies {
  Device model = device();
  Graph graph{model};
  Tensor t = graph.addVariable(FLOAT, {4}, VariableMappingMethod::LINEAR, "t");
  DataStream in = graph.addHostToDeviceFIFO("in", FLOAT, 4);
  DataStream out = graph.addDeviceToHostFIFO("out", FLOAT, 4);
  RemoteBuffer rows = graph.addRemoteBuffer("rows", FLOAT, 4, 2);
  HostFunction twice = graph.addHostFunction("twice", {Graph::HostFunctionArgument(FLOAT, 4)}, {{FLOAT, 4}});
  Sequence streams{Copy(in, t), Copy(t, out)};
  Sequence host{Call(twice, {t}, {t}), PrintTensor("t", t)};
  Copies() {
    graph.createHostWrite("write", t);
    graph.createHostRead("read", t);
  }
};

void compilations() {
  const OptionFlags checked{{"debug.allowOutOfMemory", "true"}};
  Copies of;
  int steps = 0;
  const auto progress = [&](int done, int all) { steps += done <= all; };
  Preallocations places, addresses;
  places.add("shared", 1);
  addresses.add("shared", {std::make_tuple(1u, Interval(0, 2), std::int64_t(0x8000))});
  const auto moved = [] { return Copies().graph; };
  assert(compileGraph(of.graph, {of.streams}, checked, progress).getTarget().getNumTiles() == 4 && steps > 0);
  compileGraph(of.graph, {of.streams}, true, checked);
  compileGraph(of.graph, {of.streams}, Preallocations(), checked);
  compileGraph(of.graph, {of.streams}, Preallocations(), true, checked);
  compileGraph(moved(), {Sequence()}, checked);
  compileGraph(moved(), {Sequence()}, true, checked);
  compileGraph(moved(), {Sequence()}, Preallocations());
  compileGraph(moved(), {Sequence()}, Preallocations(), true);
  compileModule(Graph(of.model), Sequence());

  Graph graph(of.model);
  Tensor shared = graph.addExternalVariable(FLOAT, {2}, "shared"), copy = graph.addVariable(FLOAT, {2}, "copy");
  graph.setTileMapping(copy, 0);
  const Sequence twice{Copy(shared, copy), Copy(copy, shared)};
  compileModule(graph, twice, places);
  const Module module = compileModule(graph, twice, addresses);
  const Graph none(of.model);
  assert(compileModule(none, Sequence()).getSymbols().empty());
  assert(compileModule(Graph(graph), twice, places).getSymbols().size() == 1);
  ModuleRuntime runtime(module);
  runtime.load(of.model);
  std::vector<float> values{3, 4}, read(2);
  runtime.writeExternal<float>("shared", values);
  assert(runtime.run() > 0);
  runtime.readExternal<float>("shared", read);
  assert(read == values);
}

void constructors_and_runs() {
  Copies of, other;
  const auto moved = [] { return Copies().graph; };
  const OptionFlags options{{"debug.instrument", "true"}, {"debug.retainDebugInformation", "true"}};
  Engine list(of.graph, {of.streams, of.host}, options), single(of.graph, of.streams);
  Engine from_moved(moved(), {Sequence(), Sequence()}), from_moved_single(moved(), Sequence());
  Engine from_executable(compileGraph(of.graph, {of.streams})), engine(std::move(list));

  engine.prepare(of.model);
  engine.prepare(of.model, RuntimeOptions());
  engine.deploy();
  engine.load(of.model);
  std::vector<float> values{1, 2, 3, 4}, read(4), streamed(4);
  engine.connectStream("in", values.data(), values.data() + 4);
  engine.connectStream<float>("out", streamed);
  engine.run(0, "streams");
  engine.run(0, "again", RuntimeOptions());
  engine.loadAndRun(of.model, 0);
  engine.connectStream("in", values.data());
  assert(streamed == values);

  engine.writeTensor<float>("write", read);
  engine.writeTensor("write", values.data(), values.data() + 4);
  engine.readTensor<float>("read", read);
  engine.readTensor("read", read.data(), read.data() + 4);
  assert(read == values);
  engine.copyToRemoteBuffer<float>(values, "rows", 0);
  engine.copyToRemoteBuffer(values.data(), "rows", 1);
  engine.copyFromRemoteBuffer("rows", read.data(), 1);
  engine.copyFromRemoteBuffer<float>("rows", read, 0);

  engine.connectStreamToCallback("in", [](void *p) { std::fill_n(static_cast<float *>(p), 4, 7.0f); });
  engine.connectStreamToCallback("out", 0, [](void *p) { assert(*static_cast<float *>(p) == 7); });
  engine.connectHostFunction("twice", 0, [](ArrayRef<const void *> from, ArrayRef<void *> to) {
    for (unsigned i = 0; i < 4; ++i)
      static_cast<float *>(to[0])[i] = 2 * static_cast<const float *>(from[0])[i];
  });
  std::ostringstream printed, tensors;
  engine.setPrintStream(printed);
  engine.setPrintTensorStream(tensors);
  engine.run(0);
  engine.run(1);
  assert(tensors.str().find("t: [14") == 0);
  assert(engine.listStreams().size() >= 2);

  const Engine::TimerTimePoint start = engine.getTimeStamp(), end(engine);
  assert(!Engine::reportTiming(start, end).empty());
  engine.disableExecutionProfiling();
  engine.run(1);
  engine.enableExecutionProfiling();
  engine.resetExecutionProfile();
  engine.run(1);
  assert(engine.getReport().execution().runs().size() == 1);
  std::ostringstream summary, intervals;
  engine.printProfileSummary(summary, {{"showExecutionSteps", "true"}});
  engine.reportIntervals(intervals);
  assert(!summary.str().empty() && !intervals.str().empty());
  assert(engine.getEngineOptions().at("debug.instrument").str() == "true");
  std::stringstream saved;
  engine.serializeExecutable(saved);
  Engine(Executable::deserialize(saved), options).load(of.model);
}

void stops() {
  Copies of;
  Engine engine(of.graph, Loop(of.streams));
  std::atomic<bool> running{false};
  engine.connectStreamToCallback("in", [&](void *) { running = true; });
  engine.connectStreamToCallback("out", [](void *) {});
  engine.load(of.model);
  std::thread stopper([&] {
    while (!running)
      std::this_thread::yield();
    engine.stop();
  });
  engine.run();
  stopper.join();
}

/// Waits in fetch until another thread notifies it.
class Patient : public ResumableStreamCallback {
public:
  Result prefetch(void *) override { return Result::NotAvailable; }
  void fetch(void *p) override {
    wait();
    *static_cast<float *>(p) = 5;
  }
  void complete() override {}
};

void resumed() {
  Copies of;
  Engine engine(of.graph, {of.streams, Sequence()});
  auto owned = std::unique_ptr<Patient>(new Patient);
  Patient &patient = *owned;
  patient.notify();
  assert(!patient.isAwaiting());
  engine.connectStreamToCallback("in", std::move(owned));
  float received = 0;
  engine.connectStreamToCallback("out", [&](void *p) { received = *static_cast<float *>(p); });
  engine.load(of.model);
  const auto when_awaiting = [&](void (*act)(Engine &, Patient &)) {
    std::thread other([&, act] {
      while (!patient.isAwaiting())
        std::this_thread::yield();
      act(engine, patient);
    });
    engine.run(0);
    other.join();
  };
  when_awaiting([](Engine &, Patient &waiting) { waiting.notify(); });
  assert(received == 5);
  when_awaiting([](Engine &stopped, Patient &) { stopped.stop(); });
}

class Scaled : public StreamCallbackWithMetadata {
public:
  Result prefetch(QuarterMetadata &, void *) override { return Result::NotAvailable; }
  void fetch(QuarterMetadata &metadata, void *p) override {
    metadata = QuarterMetadata(QuarterMetadata::Format::F152, -3);
    static_cast<unsigned char *>(p)[0] = 60;
  }
  void complete() override {}
};

void quarters() {
  Device model = device();
  Graph graph(model);
  Tensor metadata = createVariableMetadataTensor(graph, QuarterMetadata::Format::F143, 0);
  Tensor q = graph.addVariable(QUARTER, metadata, {1}, VariableMappingMethod::LINEAR, "q");
  graph.createHostWrite("q", q);
  graph.createHostRead("q", q);
  DataStream in = graph.addHostToDeviceFIFO("in", QUARTER, 1), out = graph.addDeviceToHostFIFO("out", QUARTER, 1);
  Engine engine(graph, Sequence(Copy(in, q), Copy(q, out)));
  std::vector<QuarterMetadata> sent{QuarterMetadata(QuarterMetadata::Format::F152, 4)}, received(1);
  unsigned char number = 9, arrived = 0;
  engine.connectStream("in", sent, &number, &number + 1);
  engine.connectStream("out", received, &arrived, &arrived + 1);
  engine.load(model);
  engine.run();
  assert(received == sent && arrived == 9);
  sent[0] = QuarterMetadata(QuarterMetadata::Format::F143, -1); // each transfer reads it anew
  engine.run();
  assert(received == sent);
  QuarterMetadata read;
  engine.readTensor("q", read, &arrived, &arrived + 1);
  assert(read == sent[0]);
  engine.writeTensor("q", QuarterMetadata(), &number, &number + 1);
  engine.readTensor("q", read, &arrived, &arrived + 1);
  assert(read == QuarterMetadata());

  engine.connectStreamToCallback("in", std::unique_ptr<Scaled>(new Scaled));
  engine.connectStreamToCallback("out", [&](QuarterMetadata &known, void *p) {
    read = known;
    arrived = *static_cast<unsigned char *>(p);
  });
  engine.run();
  assert(read.getScale() == -3 && read.getFormat() == QuarterMetadata::Format::F152 && arrived == 60);
  try {
    engine.connectStreamToCallback("in", [](void *) {});
    assert(false);
  } catch (const tensor_metadata_error &error) {
    std::cout << error.what() << '\n';
  }
}

void errors() {
  Device hardware = DeviceManager().getDevices(TargetType::IPU, 1).at(0);
  assert(hardware.attach());
  Graph graph(hardware);
  Tensor t = graph.addVariable(FLOAT, {4}, VariableMappingMethod::LINEAR, "t");
  Engine engine(graph, Copy(t, graph.clone(t)));
  engine.load(hardware);
  const std::vector<ErrorLocation> places = engine.getSimulatedErrorLocations(0);
  assert(engine.getSimulatedErrorLocations(0, 0).size() <= places.size());
  engine.insertSimulatedError(ErrorCode::IPUSOFTERR, places.at(0));
  engine.eraseSimulatedError(places.at(0));
  engine.clearSimulatedErrors();
  engine.run();
  try {
    engine.getSimulatedErrorLocations("Nothing");
    engine.getSimulatedErrorLocations("Nothing", 1);
  } catch (const poplar_error &) {
  }
  hardware.detach();
}

void replicated() {
  IPUModel model;
  model.numIPUs = 2;
  model.tilesPerIPU = 2;
  Device both = model.createDevice();
  Graph graph(both, replication_factor(2));
  Tensor index = graph.addReplicationIndexConstant();
  graph.setTileMapping(index, 0);
  DataStream out = graph.addDeviceToHostFIFO("out", UNSIGNED_INT, 1);
  Engine engine(graph, Copy(index, out)), twin(graph, Copy(index, out));
  std::vector<unsigned> seen;
  for (unsigned replica = 0; replica < 2; ++replica)
    engine.connectStreamToCallback("out", replica, [&](void *p) { seen.push_back(*static_cast<unsigned *>(p)); });
  engine.load(both);
  engine.run();
  std::vector<unsigned> memory(2);
  twin.connectStream<unsigned>("out", memory);
  twin.load(both); // in place of the other engine
  twin.run();
  assert(seen.size() == 2 && seen[0] + seen[1] == 1 && memory[0] + memory[1] == 1);
}

} // namespace

int main() {
  compilations();
  constructors_and_runs();
  stops();
  resumed();
  quarters();
  errors();
  replicated();
}
