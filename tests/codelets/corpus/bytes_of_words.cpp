// Built-in bitrev8, swap8 and shuf8x8.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const unsigned mixed = __builtin_ipu_shuf8x8lo(0x0201u, 0x0403u) + __builtin_ipu_shuf8x8hi(0x00050000u, 0x00060000u);
    for (unsigned i = 0; i < in.size(); ++i)
      out[i] = __builtin_ipu_bitrev8(static_cast<unsigned>(in[i])) + __builtin_ipu_swap8(0x0100u) +
               (mixed == 0x04020301u + 0x0605u);
    return true;
  }
};
