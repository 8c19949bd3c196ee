// compute without a result.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  void compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i];
  }
};
