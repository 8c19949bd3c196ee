// Built-in bitrev8 and swap8.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = __builtin_ipu_bitrev8(static_cast<unsigned>(in[i])) + __builtin_ipu_swap8(0x0100u);
    return true;
  }
};
