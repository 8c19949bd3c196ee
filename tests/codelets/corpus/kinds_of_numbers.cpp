// Built-in isfinite, isinf and isnan.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] + __builtin_ipu_isfinite(in[i]) + __builtin_ipu_isnan(in[i] * 0.0f) + __builtin_ipu_isinf(float2{in[i], in[i]})[1];
    return true;
  }
};
