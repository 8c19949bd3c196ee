// Generic lambdas, passed to a template.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <class From, class To, class Function>
static void apply(const From &from, To &to, Function function) {
  for (unsigned i = 0; i < from.size(); ++i) to[i] = function(from[i]);
}

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    apply(in, out, [](auto x) { return x - 1; });
    return true;
  }
};
