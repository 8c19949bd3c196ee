// Instantiations by a macro.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <class T>
class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] + sizeof(T);
    return true;
  }
};

#define INSTANTIATE(TYPE) template class Feature<TYPE>
INSTANTIATE(short);
