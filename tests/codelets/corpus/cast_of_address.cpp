// reinterpret_cast of a pointer to a number and back.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const uintptr_t address = reinterpret_cast<uintptr_t>(&in[0]);
    const float *x = reinterpret_cast<const float *>(address);
    for (unsigned i = 0; i < in.size(); ++i) out[i] = x[i];
    return true;
  }
};
