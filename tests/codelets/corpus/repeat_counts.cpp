// Counts of hardware loops.
#include <poplar/Vertex.hpp>
#include <ipudef.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const rptsize_t count = in.size();
    for (rptsize_t i = 0; i < count; ++i) out[i] = in[i];
    return true;
  }
};
