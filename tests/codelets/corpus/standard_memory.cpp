// <cstring> comes with <poplar/Vertex.hpp>.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    float copied[4];
    for (unsigned i = 0; i < in.size(); i += 4) {
      std::memcpy(copied, &in[i], sizeof copied);
      memcpy(&out[i], copied, sizeof copied);
    }
    return true;
  }
};
