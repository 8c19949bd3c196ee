// half4: arithmetic and elements.
#include <poplar/Vertex.hpp>
#include <ipudef.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); i += 4) {
      half4 quad = {static_cast<half>(in[i]), static_cast<half>(in[i + 1]), static_cast<half>(in[i + 2]), static_cast<half>(in[i + 3])};
      quad = quad + quad;
      for (unsigned j = 0; j < 4; ++j) out[i + j] = quad[j];
    }
    return true;
  }
};
