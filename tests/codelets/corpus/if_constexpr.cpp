// Branches at compile time.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <class T>
class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      if constexpr (std::is_floating_point<T>::value)
        out[i] = in[i];
      else
        out[i] = 0;
    }
    return true;
  }
};

template class Feature<float>;
