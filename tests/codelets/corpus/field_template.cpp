// Fields passed to a template for anything with elements.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <class From, class To>
static void scaled(const From &from, To &to, float factor) {
  auto place = to.begin();
  for (const auto &element : from) *place++ = factor * element;
}

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    scaled(in, out, 3.0f);
    return true;
  }
};
