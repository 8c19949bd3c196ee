// <cstdint> comes with <poplar/Vertex.hpp>.
#include <poplar/Vertex.hpp>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      const uint8_t low = static_cast<uint8_t>(static_cast<uint32_t>(in[i]) + 256u);
      out[i] = low + std::int64_t{1};
    }
    return true;
  }
};
