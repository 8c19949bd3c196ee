// Built-in sums and maxima of halves.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); i += 4) {
      const half4 quad = {static_cast<half>(in[i]), static_cast<half>(in[i + 1]), static_cast<half>(in[i + 2]), static_cast<half>(in[i + 3])};
      const float2 sums = __builtin_ipu_sum(quad);
      const half2 larger = __builtin_ipu_f16v4maxc(quad);
      out[i] = sums[0];
      out[i + 1] = sums[1];
      out[i + 2] = larger[0];
      out[i + 3] = __builtin_ipu_sum(larger);
    }
    return true;
  }
};
