// reinterpret_cast to a reference, and of bits.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      const unsigned bits = reinterpret_cast<const unsigned &>(in[i]);
      const unsigned negative = bits ^ 0x80000000u;
      out[i] = reinterpret_cast<const float &>(negative);
    }
    return true;
  }
};
