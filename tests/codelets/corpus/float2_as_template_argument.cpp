// A template whose argument is float2: its name in the graph is `Feature<float2>`.
#include <poplar/Vertex.hpp>
#include <ipudef.h>

using namespace poplar;

template <class T>
class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const T *x = reinterpret_cast<const T *>(&in[0]);
    T *y = reinterpret_cast<T *>(&out[0]);
    for (unsigned i = 0; i < in.size() * sizeof(float) / sizeof(T); ++i) y[i] = x[i] + x[i];
    return true;
  }
};

template class Feature<float2>;
