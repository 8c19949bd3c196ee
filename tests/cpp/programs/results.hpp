// What a program computes, printed as lines "name: v v v". Its Python twin gives the same names and numbers.
#ifndef results_hpp
#define results_hpp

#include <iomanip>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <poplar/Engine.hpp>
#include <poplar/IPUModel.hpp>
#include <popops/Cast.hpp>
#include <poputil/TileMapping.hpp>

class Results {
public:
  explicit Results(poplar::Graph &graph) : graph(graph) {}

  /// A tensor of the numbers that the twin has too.
  poplar::Tensor operand(const std::vector<std::size_t> &shape, unsigned seed = 0) {
    std::size_t count = 1;
    for (std::size_t size : shape)
      count *= size;
    std::vector<float> numbers(count);
    for (std::size_t i = 0; i < count; ++i)
      numbers[i] = (static_cast<float>((i * 7 + seed * 3) % 11) - 5) / 4;
    return mapped(graph.addConstant<float>(poplar::FLOAT, shape, numbers));
  }

  poplar::Tensor indices(const std::vector<std::size_t> &shape, const std::vector<unsigned> &numbers) {
    return mapped(graph.addConstant<unsigned>(poplar::UNSIGNED_INT, shape, numbers));
  }

  poplar::Tensor scalar(float number) { return mapped(graph.addConstant<float>(poplar::FLOAT, {}, number)); }

  /// A variable with these values.
  poplar::Tensor variable(const poplar::Tensor &values) {
    poplar::Tensor copied = graph.clone(values);
    prog.add(poplar::program::Copy(values, copied));
    return copied;
  }

  /// The tensor, which now has these values.
  poplar::Tensor filled(const poplar::Tensor &tensor, const poplar::Tensor &values) {
    prog.add(poplar::program::Copy(values.reshape(tensor.shape()), tensor));
    return tensor;
  }

  void read(const std::string &name, poplar::Tensor t) {
    if (t.elementType() != poplar::FLOAT)
      t = popops::cast(graph, t, poplar::FLOAT, prog);
    poplar::Tensor kept = graph.clone(t.flatten());
    prog.add(poplar::program::Copy(t.flatten(), kept));
    graph.createHostRead(name, kept);
    sizes[name] = kept.numElements();
  }

  void number(const std::string &name, double value) { numbers[name] = value; }

  void print(const poplar::Device &device) {
    poplar::Engine engine(graph, prog);
    engine.load(device);
    engine.run();
    std::cout << std::setprecision(9);
    for (const auto &size : sizes) {
      std::vector<float> values(size.second);
      engine.readTensor<float>(size.first, values);
      std::cout << size.first << ':';
      for (float value : values)
        std::cout << ' ' << value;
      std::cout << '\n';
    }
    for (const auto &number : numbers)
      std::cout << number.first << ": " << number.second << '\n';
  }

  poplar::Graph &graph;
  poplar::program::Sequence prog;

private:
  poplar::Tensor mapped(const poplar::Tensor &t) {
    poputil::mapTensorLinearly(graph, t);
    return t;
  }

  std::map<std::string, std::size_t> sizes;
  std::map<std::string, double> numbers;
};

inline poplar::Device small_device(unsigned ipus = 1) {
  poplar::IPUModel model;
  model.numIPUs = ipus;
  model.tilesPerIPU = 16;
  return model.createDevice();
}

#endif
