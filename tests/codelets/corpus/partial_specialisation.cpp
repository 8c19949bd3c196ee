// A template that has only a partial specialisation with a body.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <class T, unsigned N>
class Feature;

template <unsigned N>
class Feature<float, N> : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] * N;
    return true;
  }
};

template class Feature<float, 3>;
