// <tuple> comes with <poplar/Vertex.hpp>.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      const auto [low, high] = std::make_tuple(in[i], 2 * in[i]);
      out[i] = low + high;
    }
    return true;
  }
};
