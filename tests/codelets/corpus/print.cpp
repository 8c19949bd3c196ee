// printf of <print.h>.
#include <poplar/Vertex.hpp>
#include <print.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    if (in.size() == 0) printf("nothing %f\n", 1.0);
    for (unsigned i = 0; i < in.size(); ++i) out[i] = in[i];
    return true;
  }
};
