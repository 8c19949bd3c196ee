// Built-in functions without a header, as the tiles' compiler knows them.
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i)
      out[i] = __builtin_ipu_f16tof32(__builtin_ipu_f32tof16(in[i])) + __builtin_ipu_max(in[i], 5.0f);
    return true;
  }
};
