// A template whose argument is half2.
#include <poplar/Vertex.hpp>
#include <ipudef.h>

using namespace poplar;

template <class T>
struct Lanes {
  static constexpr unsigned count = 1;
};
template <>
struct Lanes<half2> {
  static constexpr unsigned count = 2;
};

template <class T>
class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    out[0] = sizeof(T);
    out[1] = Lanes<T>::count;
    for (unsigned i = 2; i < in.size(); ++i) out[i] = in[i];
    return true;
  }
};

template class Feature<half2>;
