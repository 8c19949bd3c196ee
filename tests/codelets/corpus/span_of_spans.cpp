// Vectors of vectors.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Vector<Input<Vector<float, VectorLayout::SPAN>>, VectorLayout::SPAN> in;
  Output<Vector<float>> out;

  bool compute() {
    unsigned k = 0;
    for (unsigned row = 0; row < in.size(); ++row)
      for (auto element : in[row]) out[k++] = element * (row + 1);
    return true;
  }
};
