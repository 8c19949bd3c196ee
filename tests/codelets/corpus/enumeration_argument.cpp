// A template whose argument is an enumerator.
#include <poplar/Vertex.hpp>

using namespace poplar;

enum class Sign { PLUS, MINUS };

template <Sign Kind>
class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = Kind == Sign::MINUS ? -in[i] : in[i];
    return true;
  }
};

template class Feature<Sign::MINUS>;
