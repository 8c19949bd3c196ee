// uchar4: bytes of words.
#include <poplar/Vertex.hpp>
#include <ipudef.h>

using namespace poplar;

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      uchar4 bytes = {1, 2, 3, static_cast<unsigned char>(in[i])};
      bytes = bytes << uchar4{1, 1, 1, 1};
      out[i] = bytes[0] + bytes[3];
    }
    return true;
  }
};
