// ipu::andc with the mask of a comparison, ipu::sum of halves.
#include <poplar/Vertex.hpp>
#include <ipu_vector_math>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const float2 *x = reinterpret_cast<const float2 *>(&in[0]);
    float2 *y = reinterpret_cast<float2 *>(&out[0]);
    for (unsigned i = 0; i < in.size() / 2; ++i) {
      const auto equal = x[i] == float2{3.0f, 4.0f};
      y[i] = ipu::andc(x[i], *reinterpret_cast<const float2 *>(&equal));
    }
    out[11] = ipu::sum(half2{1.0f, 2.0f}) + ipu::sum(half4{1.0f, 2.0f, 3.0f, 4.0f})[1];
    return true;
  }
};
