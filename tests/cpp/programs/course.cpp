// A host that runs the codelets of tests/codelets/course on a simulated IPU and on an IPU Model; the same as course.py.
#include <iostream>
#include <string>
#include <vector>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>

using namespace poplar;
using namespace poplar::program;

constexpr unsigned N = 24;

template <typename T>
static void print(const std::string &name, const std::vector<T> &values) {
  std::cout << name << ':';
  for (T value : values) std::cout << ' ' << value;
  std::cout << '\n';
}

static void run(Device &device, const std::string &file, const std::string &vertex, const std::string &title) {
  Graph graph(device.getTarget());
  graph.addCodelets(file + ".cpp");
  Tensor in = graph.addVariable(FLOAT, {N}, "in"), out = graph.addVariable(FLOAT, {N}, "out");
  Tensor links = graph.addVariable(INT, {3 * N}, "links"), cycles = graph.addVariable(UNSIGNED_INT, {6}, "cycles");
  for (Tensor tensor : {in, out, links, cycles}) graph.setTileMapping(tensor, 1);
  for (std::string name : {"in", "links", "cycles in"})
    graph.createHostWrite(name, name == "in" ? in : name == "links" ? links : cycles);
  graph.createHostRead("out", out);
  graph.createHostRead("cycles", cycles);
  ComputeSet course = graph.addComputeSet("course");
  VertexRef v = graph.addVertex(course, vertex, {{"in", in}, {"links", links}, {"out", out}, {"cycles", cycles}});
  graph.setTileMapping(v, 1);

  std::vector<float> values(N), results(N);
  std::vector<int> numbers(3 * N);
  std::vector<unsigned> counted(6);
  for (unsigned i = 0; i < N; ++i) values[i] = i * 5 % N;
  for (unsigned i = 0; i < 3 * N; ++i) numbers[i] = i * 7 % N;
  Engine engine(graph, Execute(course));
  engine.load(device);
  engine.writeTensor("in", values.data(), values.data() + N);
  engine.writeTensor("links", numbers.data(), numbers.data() + 3 * N);
  engine.writeTensor("cycles in", counted.data(), counted.data() + 6);
  engine.run(0);
  engine.readTensor("out", results.data(), results.data() + N);
  engine.readTensor("cycles", counted.data(), counted.data() + 6);
  print(file + title, results);
  print(file + title + " cycles", counted);
  engine.printProfileSummary(std::cout, {{"showExecutionSteps", "true"}});
}

int main() {
  const std::vector<std::pair<std::string, std::string>> codelets = {
      {"stencil", "Stencil<float>"},         {"ray_tracer", "RayTracer<float>"},
      {"sort", "Sort<float,true>"},          {"graph_network", "GraphLayer<float,Relu>"},
      {"random_walk", "RandomWalk<float,64>"}, {"timed", "Timed<float>"}};
  Device ipu = DeviceManager().getDevices(TargetType::IPU, 1).at(0);
  ipu.attach();
  IPUModel model;
  model.tilesPerIPU = 4;
  Device modelled = model.createDevice();
  for (const auto &codelet : codelets) {
    run(ipu, codelet.first, codelet.second, "");
    run(modelled, codelet.first, codelet.second, " on a model");
  }
}
