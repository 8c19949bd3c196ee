// STREAM on all tiles of an IPU: copy, scale, add and triad, ten times, with codelets of another file.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poputil/TileMapping.hpp>
#include <poputil/VertexTemplates.hpp>

using namespace poplar;
using namespace poplar::program;

static const float SCALAR = 3.0f;

Device attach() {
  auto manager = DeviceManager::createDeviceManager();
  auto devices = manager.getDevices(TargetType::IPU, 1);
  auto found = std::find_if(devices.begin(), devices.end(), [](Device &device) { return device.attach(); });
  if (found == devices.end()) {
    std::cerr << "no IPU is free\n";
    std::exit(EXIT_FAILURE);
  }
  return std::move(*found);
}

Program kernel(Graph &graph, const std::string &name, const std::map<std::string, Tensor> &vectors, bool scaled) {
  auto cs = graph.addComputeSet(name);
  const auto &mapping = graph.getTileMapping(vectors.begin()->second);
  for (unsigned tile = 0; tile < mapping.size(); ++tile) {
    if (mapping[tile].empty())
      continue;
    auto v = graph.addVertex(cs, poputil::templateVertex(name + "Vertex", FLOAT));
    for (auto &vector : vectors)
      graph.connect(v[vector.first], concat(vector.second.slices(mapping[tile])));
    if (scaled)
      graph.setInitialValue(v["scalar"], SCALAR);
    graph.setTileMapping(v, tile);
  }
  return Execute(cs);
}

int main(int argc, char **argv) {
  const unsigned long n = argc > 1 ? std::atol(argv[1]) : 100000;
  auto device = attach();
  Graph graph(device.getTarget());
  graph.addCodelets("stream_codelets.cpp");

  std::map<std::string, Tensor> all;
  for (std::string name : {"a", "b", "c"}) {
    all[name] = graph.addVariable(FLOAT, {n}, name);
    poputil::mapTensorLinearly(graph, all[name], 6, 6);
    graph.createHostWrite("write-" + name, all[name]);
    graph.createHostRead("read-" + name, all[name]);
  }
  Sequence body;
  body.add(kernel(graph, "Copy", {{"a", all["a"]}, {"c", all["c"]}}, false));
  body.add(kernel(graph, "Scale", {{"b", all["b"]}, {"c", all["c"]}}, true));
  body.add(kernel(graph, "Add", all, false));
  body.add(kernel(graph, "Triad", all, true));

  Engine engine(graph, Repeat(10, body));
  engine.load(device);
  std::map<std::string, std::vector<float>> host{
      {"a", std::vector<float>(n, 1e-9f)}, {"b", std::vector<float>(n, 2.0f)}, {"c", std::vector<float>(n, 0.0f)}};
  for (auto &vector : host)
    engine.writeTensor("write-" + vector.first, vector.second.data(), vector.second.data() + n);
  engine.run(0, "STREAM");
  float a = 1e-9f, b = 2.0f, c = 0.0f;
  for (int i = 0; i < 10; ++i) {
    c = a;
    b = SCALAR * c;
    c = a + b;
    a = b + SCALAR * c;
  }
  const std::map<std::string, float> expected{{"a", a}, {"b", b}, {"c", c}};
  for (auto &vector : host) {
    engine.readTensor("read-" + vector.first, vector.second.data(), vector.second.data() + n);
    const long wrong = n - std::count(vector.second.begin(), vector.second.end(), expected.at(vector.first));
    std::cout << vector.first << "[0] = " << vector.second[0] << ", " << wrong << " wrong\n";
  }
  return 0;
}
