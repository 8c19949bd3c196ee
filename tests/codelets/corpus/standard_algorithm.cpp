// Other standard headers by their names.
#include <poplar/Vertex.hpp>
#include <algorithm>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    std::copy(in.begin(), in.end(), out.begin());
    std::sort(out.begin(), out.end(), [](float a, float b) { return a > b; });
    return true;
  }
};
