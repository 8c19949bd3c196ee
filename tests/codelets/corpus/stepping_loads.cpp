// Loads and stores that step their pointers.
#include <poplar/Vertex.hpp>
#include <ipu_memory_intrinsics>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const float2 *x = reinterpret_cast<const float2 *>(&in[0]);
    float2 *y = reinterpret_cast<float2 *>(&out[0]);
    for (unsigned i = 0; i < in.size() / 2; ++i) {
      const float2 pair = ipu::load_postinc(&x, 1);
      ipu::store_postinc(&y, pair + pair, 1);
    }
    return true;
  }
};
