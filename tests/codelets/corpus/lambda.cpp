// Lambdas that capture fields.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const auto scaled = [&](unsigned i) { return 5 * in[i]; };
    for (unsigned i = 0; i < in.size(); ++i) out[i] = scaled(i);
    return true;
  }
};
