// A specialisation beside instantiations of its template.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <class T>
class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() { return false; }
};
template class Feature<int>;

template <>
class Feature<float> : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] / 4;
    return true;
  }
};

template class Feature<float>;
