// Attributes of other compilers.
#include <poplar/Vertex.hpp>

using namespace poplar;

[[clang::always_inline]] static inline float doubled(float x) { return x + x; }
static __attribute__((always_inline)) inline float twice(float x) { return doubled(x); }

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = twice(in[i]);
    return true;
  }
};
