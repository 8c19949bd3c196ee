// The header poplar/InOutTypes.hpp, in a nested namespace.
#include <poplar/Vertex.hpp>
#include <poplar/InOutTypes.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i];
    return true;
  }
};
