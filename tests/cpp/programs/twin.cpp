// The same program as twin.py: reports of both are equal.
#ifdef __POPC__
#include <poplar/Vertex.hpp>

class SumVertex : public poplar::Vertex {
public:
  poplar::Input<poplar::Vector<float>> in;
  poplar::Output<float> out;
  bool compute() {
    float sum = 0;
    for (unsigned i = 0; i < in.size(); ++i)
      sum += in[i];
    *out = sum;
    return true;
  }
};

#else
#include <iostream>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>

using namespace poplar;
using namespace poplar::program;

int main() {
  IPUModel model;
  model.tilesPerIPU = 8;
  Device device = model.createDevice();
  Graph graph(device.getTarget());
  popops::addCodelets(graph);
  poplin::addCodelets(graph);
  graph.addCodelets("twin.cpp");

  Tensor matrix = graph.addVariable(FLOAT, {16, 16}, VariableMappingMethod::LINEAR, "matrix");
  Tensor sums = graph.addVariable(FLOAT, {16}, VariableMappingMethod::LINEAR, "sums");
  DataStream in = graph.addHostToDeviceFIFO("in", FLOAT, 256);
  DataStream out = graph.addDeviceToHostFIFO("out", FLOAT, 16);
  Sequence prog(DebugContext("main"));
  prog.add(Copy(in, matrix, false, "read"));
  Tensor product = poplin::matMul(graph, matrix, matrix.transpose(), prog, "product");
  popops::addInPlace(graph, product, matrix, prog, "sum");
  ComputeSet rows = graph.addComputeSet("rows");
  for (unsigned i = 0; i < 16; ++i) {
    VertexRef row = graph.addVertex(rows, "SumVertex", {{"in", product[i]}, {"out", sums[i]}});
    graph.setTileMapping(row, i / 2);
  }
  prog.add(Execute(rows, "execute"));
  prog.add(PrintTensor("sums", sums.slice(0, 2), "print"));
  prog.add(Copy(sums, out, false, "write"));

  Engine engine(graph, Sequence({Repeat(2, prog, "repeat")}, "program"));
  std::vector<float> values(256), results(16);
  for (unsigned i = 0; i < 256; ++i)
    values[i] = static_cast<float>(i % 7);
  engine.connectStream("in", values.data(), values.data() + 256);
  engine.connectStream("out", results.data(), results.data() + 16);
  engine.setPrintTensorStream(std::cout);
  engine.load(device);
  engine.run(0, "run");
  for (float result : results)
    std::cout << result << ' ';
  std::cout << '\n';
  engine.printProfileSummary(std::cout, {{"showExecutionSteps", "true"}, {"showVarStorage", "true"}});
}
#endif
