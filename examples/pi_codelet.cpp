// Random points in a square, counted where they fall into a quarter of a circle: six workers, each with its own count.
#include <poplar/Vertex.hpp>

using namespace poplar;

class PiVertex : public MultiVertex {
 public:
  Output<Vector<unsigned>> hits;
  unsigned iterations;
  unsigned seed;

  bool compute(unsigned worker) {
    // xorshift: the state of each worker of each tile begins at its own place
    unsigned state = (seed * 6 + worker + 1) * 2654435769u;
    unsigned count = 0;
    for (unsigned i = 0; i < iterations; ++i) {
      float point[2];
      for (auto &coordinate : point) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        coordinate = static_cast<float>(state >> 8) * (1.0f / 16777216.0f);
      }
      count += point[0] * point[0] + point[1] * point[1] < 1.0f;
    }
    hits[worker] = count;
    return true;
  }
};
