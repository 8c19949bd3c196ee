// Both namespaces opened.
#include <poplar/Vertex.hpp>
#include <algorithm>

using namespace poplar;

using namespace std;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    float largest = 0;
    for (const auto &x : in) largest = max(largest, x);
    for (unsigned i = 0; i < in.size(); ++i) out[i] = largest - in[i];
    return true;
  }
};
