// State that workers share through a volatile pointer.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

 private:
  int counter;

 public:
  bool compute() {
    volatile int *next = &counter;
    *next = 0;
    for (unsigned i = 0; i < in.size(); ++i) {
      out[i] = in[i] + *next;
      *next = *next + 1;
    }
    return true;
  }
};
