// A MultiVertex: six workers, each its share.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public MultiVertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute(unsigned worker) {
    for (unsigned i = worker; i < in.size(); i += numWorkers()) out[i] = in[i] + worker;
    return true;
  }
};
