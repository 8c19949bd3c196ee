// A struct as a vertex, in a namespace.
#include <poplar/Vertex.hpp>

using namespace poplar;

struct Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i];
    return true;
  }
};
