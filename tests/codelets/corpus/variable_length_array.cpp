// Arrays whose sizes are known at run time, on the stack.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const unsigned n = in.size();
    float doubled[n];
    for (unsigned i = 0; i < n; ++i) doubled[i] = 2 * in[i];
    for (unsigned i = 0; i < in.size(); ++i) out[i] = doubled[n - 1 - i];
    return true;
  }
};
