// Jumps and switches.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      switch (i % 3) {
        case 0:
          out[i] = 1;
          break;
        case 1:
          goto two;
        default:
        two:
          out[i] = 2;
      }
    }
    return true;
  }
};
