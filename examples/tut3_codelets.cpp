// The vertex of tutorial 3: the sum of a vector.
#include <poplar/Vertex.hpp>

class SumVertex : public poplar::Vertex {
 public:
  poplar::Input<poplar::Vector<float>> in;
  poplar::Output<float> out;

  bool compute() {
    *out = 0;
    for (const auto &element : in) *out += element;
    return true;
  }
};
