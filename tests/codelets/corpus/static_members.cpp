// Static members, constant and changing.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  static constexpr float FACTOR = 2;
  static unsigned count;

  bool compute() {
    count = 0;
    for (unsigned i = 0; i < in.size(); ++i) {
      ++count;
      out[i] = in[i] * FACTOR + count;
    }
    return true;
  }
};

unsigned Feature::count;
