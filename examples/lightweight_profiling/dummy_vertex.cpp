// Stands for some computation.
#include <poplar/Vertex.hpp>

class DummyVertex : public poplar::SupervisorVertex {
public:
  __attribute__((target("supervisor"))) bool compute() {
    for (volatile int i = 0; i < 100; ++i);
    return true;
  }
};
