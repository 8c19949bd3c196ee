// Enumerators named like short vectors.
#include <poplar/Vertex.hpp>

using namespace poplar;

enum Kind { char2 = 1, half2, short2 };

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i] * static_cast<int>(short2);
    return true;
  }
};
