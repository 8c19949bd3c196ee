// A VectorList in the layouts DELTAN and COMPACT_DELTAN.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<VectorList<float, VectorListLayout::COMPACT_DELTAN>> in;
  Output<Vector<float>> out;

  bool compute() {
    unsigned k = 0;
    for (const auto &row : in)
      for (float element : row) out[k++] = 2 * element;
    return true;
  }
};
