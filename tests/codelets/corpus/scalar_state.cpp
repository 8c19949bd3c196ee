// Numbers in the vertex's state.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  const float factor;
  const bool flag;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] * factor + (flag ? 1 : 0);
    return true;
  }
};
