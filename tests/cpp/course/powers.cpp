// The largest eigenvalue of a matrix by the power method: one program uploads the matrix, another one iterates. The
// executable is saved and loaded again, as a job that runs several times does.
#include <cmath>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <poplin/MatMul.hpp>
#include <poplin/codelets.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Expr.hpp>
#include <popops/Reduce.hpp>
#include <popops/codelets.hpp>
#include <poputil/TileMapping.hpp>

namespace po = boost::program_options;
namespace pe = popops::expr;

struct Options {
  unsigned size, iterations;
  bool model;
  std::string save, load;
};

Options parse(int argc, char **argv) {
  Options options;
  po::options_description described("powers");
  described.add_options()("help", "say what there is")(
      "size", po::value<unsigned>(&options.size)->default_value(24), "rows of the matrix")(
      "iterations", po::value<unsigned>(&options.iterations)->default_value(30), "products")(
      "model", po::bool_switch(&options.model), "use the IPU Model")(
      "save-exe", po::value<std::string>(&options.save), "save the executable in this file")(
      "load-exe", po::value<std::string>(&options.load), "run the executable of this file");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, described), given);
  if (given.count("help")) {
    std::cout << described << '\n';
    std::exit(0);
  }
  po::notify(given);
  return options;
}

poplar::Device getDevice(bool model) {
  if (model) {
    poplar::IPUModel ipuModel;
    ipuModel.numIPUs = 1;
    return ipuModel.createDevice();
  }
  auto manager = poplar::DeviceManager::createDeviceManager();
  for (auto &device : manager.getDevices(poplar::TargetType::IPU, 1))
    if (device.attach())
      return std::move(device);
  throw std::runtime_error("no IPU is free");
}

enum Programs { UPLOAD, ITERATE, NUM_PROGRAMS };

std::vector<poplar::program::Program> build(poplar::Graph &graph, const Options &options) {
  using namespace poplar;
  poplin::addCodelets(graph);
  popops::addCodelets(graph);
  const std::size_t n = options.size;
  const DebugContext context("powers");
  Tensor matrix = poplin::createMatMulInputLHS(graph, FLOAT, {n, n}, {n, 1}, {context, "matrix"});
  Tensor vector = poplin::createMatMulInputRHS(graph, FLOAT, {n, n}, {n, 1}, {context, "vector"});
  auto up = graph.addHostToDeviceFIFO("matrix", FLOAT, n * n);
  auto down = graph.addDeviceToHostFIFO("norm", FLOAT, 1);

  std::vector<program::Program> programs(NUM_PROGRAMS);
  program::Sequence upload{program::Copy(up, matrix)};
  popops::mapInPlace(graph, pe::Add(pe::Mul(pe::_1, pe::Const(0)), pe::Const(1)), {vector}, upload, {context, "ones"});
  programs[UPLOAD] = upload;

  program::Sequence iteration;
  Tensor product = poplin::matMul(graph, matrix, vector, iteration, FLOAT, {context, "product"});
  Tensor norm = popops::reduce(graph, product.flatten(), {0}, {popops::Operation::MAX}, iteration, {context, "norm"});
  popops::divInPlace(graph, product, norm.expand({0, 0}), iteration, {context, "scale"});
  iteration.add(program::Copy(product, vector));
  programs[ITERATE] = program::Sequence{program::Repeat(options.iterations, iteration), program::Copy(norm, down)};
  return programs;
}

int main(int argc, char **argv) {
  try {
    const Options options = parse(argc, argv);
    poplar::Device device = getDevice(options.model);
    poplar::Executable executable;
    if (!options.load.empty()) {
      std::ifstream in(options.load, std::ios::binary);
      executable = poplar::Executable::deserialize(in);
    } else {
      poplar::Graph graph(device.getTarget());
      auto programs = build(graph, options);
      int calls = 0;
      executable = poplar::compileGraph(graph, programs, {}, [&calls](int, int) { ++calls; });
      std::cout << (calls > 0 ? "compiled\n" : "no progress\n");
    }
    if (!options.save.empty()) {
      std::ofstream out(options.save, std::ios::binary);
      executable.serialize(out);
    }
    poplar::Engine engine(std::move(executable));
    engine.load(device);
    std::vector<float> matrix(options.size * options.size, 1.0f);
    for (unsigned i = 0; i < options.size; ++i)
      matrix[i * options.size + i] = 2.0f;
    float norm = 0;
    engine.connectStream("matrix", matrix.data(), matrix.data() + matrix.size());
    engine.connectStream("norm", &norm);
    engine.run(UPLOAD);
    engine.run(ITERATE);
    std::cout << "eigenvalue " << norm << '\n';
    return norm == options.size + 1 ? 0 : 1;
  } catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
