// Vectors of at most 4,095 elements.
#include <poplar/Vertex.hpp>
#include <poplar/AvailableVTypes.h>

using namespace poplar;

#ifdef VECTOR_AVAIL_SHORT_SPAN
static constexpr auto LAYOUT = VectorLayout::SHORT_SPAN;
#else
static constexpr auto LAYOUT = VectorLayout::SPAN;
#endif

class Feature : public Vertex {
 public:
  Input<Vector<float, LAYOUT, 8>> in;
  Output<Vector<float, LAYOUT>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i];
    return true;
  }
};
