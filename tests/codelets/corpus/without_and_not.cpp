// Built-in andc, or, not.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      const float mask = __builtin_ipu_f32cmple(in[i], 6.0f);
      out[i] = __builtin_ipu_or(__builtin_ipu_andc(in[i], mask), __builtin_ipu_and(-in[i], __builtin_ipu_not(__builtin_ipu_not(mask))));
    }
    return true;
  }
};
