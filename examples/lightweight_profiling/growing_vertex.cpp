// Stands for a computation that takes longer with each execution.
#include <poplar/Vertex.hpp>

class DummyVertex : public poplar::SupervisorVertex {
  poplar::InOut<unsigned> iterations;

public:
  __attribute__((target("supervisor"))) bool compute() {
    for (unsigned n = 0; n < iterations; ++n) {
      for (volatile int i = 0; i < 100; ++i);
    }
    iterations += 1;
    return true;
  }
};
