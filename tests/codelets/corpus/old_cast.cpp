// C's casts of fields, to bytes and back.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const uint8_t *bytes = (uint8_t *)&(in[0]);
    for (unsigned i = 0; i < in.size(); ++i) out[i] = ((float *)bytes)[i];
    return true;
  }
};
