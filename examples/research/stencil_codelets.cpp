// Heat in a plate: each cell becomes the mean of its four neighbours. A strip of rows with a row above and one below.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Step : public MultiVertex {
public:
  Vector<Input<Vector<float>>> in;
  Vector<Output<Vector<float>>> out;

  bool compute(unsigned worker) {
    for (unsigned row = 0; row < out.size(); ++row) {
      const unsigned last = out[row].size() - 1;
      for (unsigned column = worker; column <= last; column += numWorkers())
        out[row][column] = column == 0 || column == last
                               ? in[row + 1][column]
                               : 0.25f * (in[row][column] + in[row + 2][column] + in[row + 1][column - 1] +
                                          in[row + 1][column + 1]);
    }
    return true;
  }
};
