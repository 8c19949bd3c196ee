// long has 32 bits on a tile; vectors of long and long long.
#include <poplar/Vertex.hpp>
#include <ipudef.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    out[0] = sizeof(long2);
    out[1] = sizeof(longlong2);
    for (unsigned i = 2; i < in.size(); ++i) out[i] = in[i];
    return true;
  }
};
