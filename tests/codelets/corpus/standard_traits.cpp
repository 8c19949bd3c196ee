// <type_traits> comes with <poplar/Vertex.hpp>.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <bool Doubled>
static typename std::enable_if<Doubled, float>::type twice(float x) {
  return 2 * x;
}

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = twice<std::is_same<float, float>::value>(in[i]);
    return true;
  }
};
