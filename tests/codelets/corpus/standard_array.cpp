// <array> comes with <poplar/Vertex.hpp>.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const std::array<float, 3> factors{1, 2, 3};
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] * factors[i % factors.size()];
    return true;
  }
};
