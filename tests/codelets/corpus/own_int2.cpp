// A template int2 of the source's own.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <class T>
struct int2 {
  T a, b;
  T sum() const { return a + b; }
};

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = int2<float>{in[i], 1}.sum();
    return true;
  }
};
