// Pragmas of other compilers.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    #pragma unroll 4
    #pragma clang loop vectorize(enable)
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i];
    return true;
  }
};
