// Stands for a computation on what came from the host.
#include <poplar/Vertex.hpp>

class DummyVertex : public poplar::SupervisorVertex {
  poplar::Input<int> input;

public:
  __attribute__((target("supervisor"))) bool compute() {
    for (volatile int i = 0; i < 100; ++i);
    return true;
  }
};
