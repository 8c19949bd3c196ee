// A typedef half4 of the source's own.
#include <poplar/Vertex.hpp>

using namespace poplar;

#include <initializer_list>
using half4 = std::initializer_list<float>;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      half4 quad = {in[i], in[i]};
      out[i] = quad.size();
    }
    return true;
  }
};
