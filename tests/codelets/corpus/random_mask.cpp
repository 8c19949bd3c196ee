// Built-in rmask: elements stay by chance, all with probability 1 and none with 0; odd accumulators by gina's index.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const unsigned all = 1 << 16, none = 0;
    float always, never;
    __builtin_memcpy(&always, &all, sizeof all);
    __builtin_memcpy(&never, &none, sizeof none);
    const float2 *x = reinterpret_cast<const float2 *>(&in[0]);
    float2 *y = reinterpret_cast<float2 *>(&out[0]);
    for (unsigned i = 0; i < in.size() / 2; ++i) {
      for (unsigned k = 0; k < 4; ++k) __builtin_ipu_f32v2gina(x[i], 1);
      y[i] = __builtin_ipu_rmask(x[i], always) + __builtin_ipu_rmask(x[i], never) + __builtin_ipu_gina(x[i], 1);
    }
    return true;
  }
};
