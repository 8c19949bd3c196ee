// Functions of float2, element by element.
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
    for (unsigned i = 0; i < in.size() / 2; ++i) y[i] = ipu::exp(ipu::log(x[i])) + ipu::sqrt(x[i] * x[i]) + ipu::tanh(float2{0.0f, 0.0f});
    return true;
  }
};
