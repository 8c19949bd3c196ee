// A union char4 of the source's own.
#include <poplar/Vertex.hpp>

using namespace poplar;

union char4 {
  unsigned word;
  unsigned char letters[4];
};

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    for (unsigned i = 0; i < in.size(); ++i) {
      char4 bytes;
      bytes.word = static_cast<unsigned>(in[i]) << 8;
      out[i] = bytes.letters[1];
    }
    return true;
  }
};
