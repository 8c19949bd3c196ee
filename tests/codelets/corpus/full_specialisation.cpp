// An explicit full specialisation.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <class T>
class Feature;

template <>
class Feature<float> : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] / 2;
    return true;
  }
};
