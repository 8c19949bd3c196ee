// Random points in a square, counted where they fall into a quarter of a circle. Each worker has numbers of its own.
#include <poplar/Vertex.hpp>

using namespace poplar;

class CountHits : public MultiVertex {
public:
  Output<Vector<unsigned>> hits; // one for each worker
  unsigned trips, tile;

  bool compute(unsigned worker) {
    unsigned state = (tile * numWorkers() + worker + 1) * 2654435769u, count = 0;
    for (unsigned i = 0; i < trips; ++i) {
      const float x = next(state), y = next(state);
      if (x * x + y * y < 1.0f)
        ++count;
    }
    hits[worker] = count;
    return true;
  }

private:
  static float next(unsigned &state) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return float(state >> 8) * (1.0f / 16777216.0f);
  }
};
