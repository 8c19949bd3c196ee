// Variables, constants, a codelet of this file, streams and host copies: the way from a graph to its results.
#ifdef __POPC__
#include <poplar/Vertex.hpp>

class SumVertex : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> in;
  poplar::Output<float> out;
  float scale;

  bool compute() {
    float sum = 0;
    for (unsigned i = 0; i < in.size(); ++i)
      sum += in[i];
    *out = sum * scale;
    return true;
  }
};

#else
#include <iostream>
#include <vector>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Graph.hpp>
#include <poplar/IPUModel.hpp>

using namespace poplar;
using namespace poplar::program;

int main() {
  IPUModel ipuModel;
  ipuModel.tilesPerIPU = 8;
  Device device = ipuModel.createDevice();
  Graph graph(device.getTarget());
  graph.addCodelets(__FILE__);

  Tensor v1 = graph.addVariable(FLOAT, {4}, "v1");
  Tensor v2 = graph.addVariable(FLOAT, {4}, "v2");
  for (unsigned i = 0; i < 4; ++i) {
    graph.setTileMapping(v1[i], i);
    graph.setTileMapping(v2[i], i);
  }
  Tensor c1 = graph.addConstant<float>(FLOAT, {4}, {1.0, 1.5, 2.0, 2.5});
  graph.setTileMapping(c1, 0);

  ComputeSet computeSet = graph.addComputeSet("computeSet");
  for (unsigned i = 0; i < 4; ++i) {
    VertexRef vtx = graph.addVertex(computeSet, "SumVertex");
    graph.connect(vtx["in"], v1.slice(i, 4));
    graph.connect(vtx["out"], v2[i]);
    graph.setInitialValue(vtx["scale"], 2.0f);
    graph.setTileMapping(vtx, i);
    graph.setPerfEstimate(vtx, 20);
  }

  Sequence prog;
  prog.add(Copy(c1, v1));
  prog.add(PrintTensor("v1", v1));
  prog.add(Execute(computeSet));
  DataStream in = graph.addHostToDeviceFIFO("in", FLOAT, 4);
  DataStream out = graph.addDeviceToHostFIFO("out", FLOAT, 4);
  graph.createHostRead("v2-read", v2);
  Sequence streams(Copy(v2, out), Copy(in, v1), Execute(computeSet));
  prog.add(streams);

  Engine engine(graph, prog);
  std::vector<float> to(4), from = {1, 2, 3, 4}, read(4);
  engine.connectStream("in", from.data(), from.data() + from.size());
  engine.connectStream("out", to.data());
  engine.setPrintTensorStream(std::cout);
  engine.load(device);
  engine.run(0);
  engine.readTensor("v2-read", read.data(), read.data() + read.size());
  for (float value : to)
    std::cout << value << ' ';
  for (float value : read)
    std::cout << value << ' ';
  std::cout << '\n' << v2 << ' ' << v2.elementType() << ' ' << device.getTarget().getNumTiles() << '\n';
  return 0;
}
#endif
