// __POPC__ and the version of the architecture.
#include <poplar/Vertex.hpp>

using namespace poplar;

#if defined(__POPC__) && __IPU_ARCH_VERSION__ >= 1
#define ADDED 1
#else
#define ADDED 100
#endif

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] + ADDED;
    return true;
  }
};
