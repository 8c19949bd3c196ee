// Functions of vectors by the name of their type.
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
    for (unsigned i = 0; i < in.size() / 2; ++i) y[i] = float2_fmax(float2_sqrt(x[i] * x[i]), float2{5.0f, 5.0f}) + float2_pow(x[i], float2{1.0f, 1.0f});
    return true;
  }
};
