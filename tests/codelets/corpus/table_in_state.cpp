// A vector in the vertex's state.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  Vector<float> table;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] * table[i % table.size()];
    return true;
  }
};
