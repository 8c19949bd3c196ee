// A stencil of three points: pairs at a time on hardware, one after another elsewhere.
#include <poplar/Vertex.hpp>
#ifdef __IPU__
#include <ipu_builtins.h>
#include <ipu_vector_math>
#endif

using namespace poplar;

template <typename T>
class Stencil : public Vertex {
 public:
  Input<Vector<T, VectorLayout::SPAN, 8>> in;
  Input<Vector<int>> links;
  Output<Vector<T, VectorLayout::SPAN, 8>> out;
  Output<Vector<unsigned>> cycles;

  bool compute() {
    const unsigned last = in.size() - 1;
    out[0] = in[0];
    out[last] = in[last];
#ifdef __IPU__
    const unsigned begin = __builtin_ipu_get_scount_l();
    const float2 *pairs = reinterpret_cast<const float2 *>(&in[0]);
    float2 left = pairs[0], middle = pairs[1];
    for (unsigned i = 1; i < in.size() / 2; ++i) {
      const float2 right = i + 1 < in.size() / 2 ? pairs[i + 1] : float2{0, 0};
      const float2 before = {left[1], middle[0]}, after = {middle[1], right[0]};
      const float2 sum = before - 2.0f * middle + after;
      out[2 * i] = sum[0];
      if (2 * i + 1 < last) out[2 * i + 1] = sum[1];
      left = middle;
      middle = right;
    }
    out[1] = in[0] - 2 * in[1] + in[2];
    cycles[0] = __builtin_ipu_get_scount_l() - begin;
#else
    for (unsigned i = 1; i < last; ++i) out[i] = in[i - 1] - 2 * in[i] + in[i + 1];
#endif
    return true;
  }
};

template class Stencil<float>;
