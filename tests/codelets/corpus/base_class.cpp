// Fields and code in a base of the vertex.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Common : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

 protected:
  float offset(float x) const { return x + 7; }
};

class Feature : public Common {
 public:

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = offset(in[i]);
    return true;
  }
};
