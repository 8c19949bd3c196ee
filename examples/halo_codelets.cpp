// The vertices of the halo exchange: fill a block, and average every cell of a block with its eight neighbours.
#include <poplar/Vertex.hpp>

using namespace poplar;

template <typename T>
class Fill : public Vertex {
 public:
  Output<Vector<T>> result;
  Input<T> val;

  bool compute() {
    for (unsigned i = 0; i < result.size(); ++i) result[i] = *val;
    return true;
  }
};
template class Fill<float>;

// `in` is the block with a frame of its neighbours' cells around it, `out` the block alone.
template <typename T>
class MooreAverage : public Vertex {
 public:
  Input<VectorList<T, VectorListLayout::COMPACT_DELTAN, 4, false>> in;
  Output<VectorList<T, VectorListLayout::COMPACT_DELTAN, 4, false>> out;

  bool compute() {
    for (unsigned y = 0; y < out.size(); ++y) {
      for (unsigned x = 0; x < out[y].size(); ++x) {
        T total = 0;
        for (unsigned dy = 0; dy < 3; ++dy)
          for (unsigned dx = 0; dx < 3; ++dx) total += in[y + dy][x + dx];
        out[y][x] = total / 9;
      }
    }
    return true;
  }
};
template class MooreAverage<float>;
