// The header arch/gc_tile_defines.h, and INT_MAX.
#include <poplar/Vertex.hpp>
#include <arch/gc_tile_defines.h>
#include <limits.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] < INT_MAX ? CTXT_WORKERS * in[i] : 0;
    return true;
  }
};
