// A base that is a template of the vertex.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <class Derived>
class Gained : public Vertex {
 protected:
  float gain() const { return Derived::GAIN; }
};

class Feature : public Gained<Feature> {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  static constexpr float GAIN = 6;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] * gain();
    return true;
  }
};
