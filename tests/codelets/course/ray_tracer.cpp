// Rays through a sphere: a pixel's brightness where one hits it. Six workers, each its pixels.
#include <poplar/Vertex.hpp>
#ifdef __IPU__
#include <ipu_builtins.h>
#include <ipu_vector_math>
#define SQRT ipu::sqrt
#else
#include <cmath>
#define SQRT std::sqrt
#endif

namespace rays {

struct Vec3 {
  float x, y, z;
  Vec3 operator-(const Vec3 &other) const { return {x - other.x, y - other.y, z - other.z}; }
  float dot(const Vec3 &other) const { return x * other.x + y * other.y + z * other.z; }
};

template <typename T>
struct Sphere {
  Vec3 center;
  T radius;
  // The distance along a ray of length 1, or less than 0.
  T hit(const Vec3 &from, const Vec3 &along) const {
    const Vec3 there = center - from;
    const T middle = there.dot(along), square = there.dot(there) - middle * middle;
    return square > radius * radius ? T(-1) : middle - SQRT(radius * radius - square);
  }
};

}  // namespace rays

template <typename T>
class RayTracer : public poplar::MultiVertex {
 public:
  poplar::Input<poplar::Vector<T>> in;
  poplar::Input<poplar::Vector<int>> links;
  poplar::Output<poplar::Vector<T>> out;
  poplar::Output<poplar::Vector<unsigned>> cycles;

  bool compute(unsigned workerId) {
#ifdef __IPU__
    const unsigned begin = __builtin_ipu_get_scount_l();
#endif
    const rays::Sphere<T> sphere = {{0, 0, 4}, 2};
    for (unsigned i = workerId; i < out.size(); i += numWorkers()) {
      const T distance = sphere.hit({in[i] / 4 - 1, T(links[i] % 4) / 2 - 1, 0}, {0, 0, 1});
      out[i] = distance < 0 ? T(0) : 1 / distance;
    }
#ifdef __IPU__
    cycles[workerId] = __builtin_ipu_get_scount_l() - begin;
#endif
    return true;
  }
};

template class RayTracer<float>;
