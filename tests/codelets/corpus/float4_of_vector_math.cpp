// float4 of <ipu_vector_math>.
#include <poplar/Vertex.hpp>
#include <ipu_vector_math>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const float4 *x = reinterpret_cast<const float4 *>(&in[0]);
    float4 *y = reinterpret_cast<float4 *>(&out[0]);
    for (unsigned i = 0; i < in.size() / 4; ++i) y[i] = x[i] * x[i];
    return true;
  }
};
