// A VectorList in its own layout.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<VectorList<float, VectorListLayout::DELTANELEMENTS>> in;
  Output<Vector<float>> out;

  bool compute() {
    unsigned k = 0;
    for (unsigned row = 0; row < in.size(); ++row)
      for (unsigned i = 0; i < in[row].size(); ++i) out[k++] = in[row][i];
    return true;
  }
};
