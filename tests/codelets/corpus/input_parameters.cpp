// Fields passed as what they are.
#include <poplar/Vertex.hpp>

using namespace poplar;

static void copy(Input<Vector<float>> &from, Output<Vector<float>> &to) {
  for (unsigned i = 0; i < from.size(); ++i) to[i] = from[i];
}

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    copy(in, out);
    return true;
  }
};
