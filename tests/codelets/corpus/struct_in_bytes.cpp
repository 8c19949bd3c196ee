// A struct whose bytes lie in a vector of floats.
#include <poplar/Vertex.hpp>

using namespace poplar;

struct Particle {
  float position, speed;
};

class Feature : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute() {
    const Particle *particles = reinterpret_cast<const Particle *>(&in[0]);
    Particle *moved = reinterpret_cast<Particle *>(&out[0]);
    for (unsigned i = 0; i < in.size() * sizeof(float) / sizeof(Particle); ++i) {
      moved[i] = particles[i];
      moved[i].position += moved[i].speed;
    }
    return true;
  }
};
