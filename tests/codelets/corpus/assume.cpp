// __builtin_assume, which g++ does not have.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    __builtin_assume(in.size() > 0);
    __builtin_assume(in.size() % 4 == 0);
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i];
    return true;
  }
};
