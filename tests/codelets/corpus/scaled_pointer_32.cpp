// Pointers in the layouts SCALED_PTR32 and SCALED_PTR128.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float, VectorLayout::SCALED_PTR32, 4>> in;
  Output<Vector<float, VectorLayout::SCALED_PTR128, 16>> out;

  bool compute() {
    for (unsigned i = 0; i < 12; ++i) out[i] = in[i] + 2;
    return true;
  }
};
