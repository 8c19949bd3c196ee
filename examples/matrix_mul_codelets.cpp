// The vertices of tutorials 5 and 6: a dot product, and a sum.
#include <poplar/Vertex.hpp>

using namespace poplar;

// out = a[0] b[0] + a[1] b[1] + ..., added up from the first element on.
class DotProductVertex : public Vertex {
 public:
  Input<Vector<float>> a;
  Input<Vector<float>> b;
  Output<float> out;

  bool compute() {
    float total = 0;
    for (unsigned i = 0; i < a.size(); ++i) total += a[i] * b[i];
    *out = total;
    return true;
  }
};

// out = in[0] + in[1] + ...
class ReduceVertex : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<float> out;

  bool compute() {
    float total = 0;
    for (unsigned i = 0; i < in.size(); ++i) total += in[i];
    *out = total;
    return true;
  }
};
