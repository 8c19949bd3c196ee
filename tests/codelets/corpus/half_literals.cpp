// Literals and conversions of half.
#include <poplar/Vertex.hpp>
#include <poplar/HalfFloat.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = static_cast<float>(static_cast<half>(in[i]) * 2.0_h);
    return true;
  }
};
