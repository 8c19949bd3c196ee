// __builtin_assume_aligned and align_value.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const float *x = static_cast<const float *>(__builtin_assume_aligned(&in[0], 4));
    for (unsigned i = 0; i < in.size(); ++i) out[i] = x[i];
    return true;
  }
};
