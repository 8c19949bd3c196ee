// The layout COMPACT_PTR.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float, VectorLayout::COMPACT_PTR, 8>> in;
  Output<Vector<float, VectorLayout::COMPACT_PTR, 8>> out;

  bool compute() {
    for (unsigned i = 0; i < 12; ++i) out[i] = in[i];
    return true;
  }
};
