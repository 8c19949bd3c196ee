// SupervisorVertexIf by a template's argument.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <bool Supervised>
class Feature : public SupervisorVertexIf<Supervised> {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i];
    return true;
  }
};

template class Feature<true>;
