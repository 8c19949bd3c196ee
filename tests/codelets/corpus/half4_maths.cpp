// Functions of half4.
#include <poplar/Vertex.hpp>
#include <ipu_vector_math>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); i += 4) {
      half4 quad = {static_cast<half>(in[i]), static_cast<half>(in[i + 1]), static_cast<half>(in[i + 2]), static_cast<half>(in[i + 3])};
      quad = ipu::fabs(-quad);
      for (unsigned j = 0; j < 4; ++j) out[i + j] = quad[j];
    }
    return true;
  }
};
