// Functions and constants in a namespace without a name.
#include <poplar/Vertex.hpp>

using namespace poplar;

namespace {
constexpr float SHIFT = 3;
float shifted(float x) { return x + SHIFT; }
}  // namespace

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = shifted(in[i]);
    return true;
  }
};
