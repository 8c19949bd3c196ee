// Numbers of the tile's generator lie where they should.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      const float uniform = __builtin_ipu_urand_f32();
      const float2 normal = __builtin_ipu_f32v2grand();
      out[i] = uniform >= -0.5f && uniform < 0.5f && normal[0] == normal[0] && normal[1] < 10 ? in[i] : -1;
    }
    return true;
  }
};
