// A template with any number of arguments.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <unsigned... Factors>
class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] * (Factors + ...);
    return true;
  }
};

template class Feature<1, 2, 3>;
