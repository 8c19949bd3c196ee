// <limits> comes with <poplar/Vertex.hpp>, half too.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] < std::numeric_limits<float>::max() ? static_cast<float>(std::numeric_limits<half>::max()) : 0.0f;
    return true;
  }
};
