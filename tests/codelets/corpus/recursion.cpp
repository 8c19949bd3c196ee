// A function that calls itself.
#include <poplar/Vertex.hpp>

using namespace poplar;

static int sum_to(int n) { return n ? n + sum_to(n - 1) : 0; }

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = sum_to(static_cast<int>(in[i]));
    return true;
  }
};
