// A pointer in the layout SCALED_PTR64.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float, VectorLayout::SCALED_PTR64, 8>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < out.size(); ++i) out[i] = in[i];
    return true;
  }
};
