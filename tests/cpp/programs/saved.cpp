// "save" writes an executable with operations of PopLibs, "load" runs it: by then the program has called no library.
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/ElementWise.hpp>
#include <popops/codelets.hpp>

using namespace poplar;
using namespace poplar::program;

int main(int, char **argv) {
  IPUModel model;
  model.tilesPerIPU = 4;
  Device device = model.createDevice();
  if (argv[1] == std::string("save")) {
    Graph graph(device);
    popops::addCodelets(graph);
    Tensor t = graph.addVariable(FLOAT, {2}, VariableMappingMethod::LINEAR, "t");
    graph.setInitialValue(t, ArrayRef<float>({1, 3}));
    Sequence prog;
    popops::mapInPlace(graph, popops::expr::_1 * popops::expr::Const(2.0f) + popops::expr::Const(2.0f), {t}, prog);
    prog.add(Copy(t, graph.addDeviceToHostFIFO("t", FLOAT, 2)));
    std::ofstream out("saved.exe", std::ios::binary);
    compileGraph(graph, {prog}).serialize(out);
    return 0;
  }
  std::ifstream in("saved.exe", std::ios::binary);
  Engine engine(Executable::deserialize(in));
  std::vector<float> values(2);
  engine.connectStream("t", values.data());
  engine.load(device);
  engine.run();
  std::cout << values[0] << ' ' << values[1] << '\n';
  return 0;
}
