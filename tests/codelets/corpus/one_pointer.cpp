// Vectors without a size.
#include <poplar/Vertex.hpp>

using namespace poplar;

static constexpr auto ONE_PTR = VectorLayout::ONE_PTR;

class Feature : public Vertex {
 public:
  Input<Vector<float, ONE_PTR>> in;
  Output<Vector<float, ONE_PTR, 8>> out;

  bool compute() {
    for (unsigned i = 0; i < 12; ++i) out[i] = in[i];
    return true;
  }
};
