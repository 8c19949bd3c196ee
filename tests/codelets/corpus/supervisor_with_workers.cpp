// A SupervisorVertex that calls a function of its workers.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public SupervisorVertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  __attribute__((target("worker"))) void work(unsigned worker) {
    for (unsigned i = worker; i < in.size(); i += 6) out[i] = 2 * in[i];
  }

  __attribute__((target("supervisor"))) bool compute() {
    for (unsigned worker = 0; worker < 6; ++worker) work(worker);
    return true;
  }
};
