// Vectors of vectors, without sizes.
#include <poplar/Vertex.hpp>

using namespace poplar;

using Row = Input<Vector<float, VectorLayout::ONE_PTR>>;

class Feature : public Vertex {
 public:
  Vector<Row, VectorLayout::ONE_PTR> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned row = 0; row < 4; ++row)
      for (unsigned i = 0; i < 3; ++i) out[3 * row + i] = in[row][i];
    return true;
  }
};
