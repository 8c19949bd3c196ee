// STREAM's triad, a[i] = b[i] + scale * c[i], by six workers: element by element, and two at a time.
#include <poplar/Vertex.hpp>
#ifdef __IPU__
#include <ipu_vector_math>
#endif

using namespace poplar;

class Triad : public MultiVertex {
public:
  Output<Vector<float>> a;
  Input<Vector<float>> b, c;
  float scale;

  bool compute(unsigned worker) {
    for (unsigned i = worker; i < a.size(); i += numWorkers())
      a[i] = b[i] + scale * c[i];
    return true;
  }
};

class TriadOfPairs : public MultiVertex {
public:
  Output<Vector<float, VectorLayout::ONE_PTR, 8>> a;
  Input<Vector<float, VectorLayout::ONE_PTR, 8>> b, c;
  float scale;
  unsigned size;

  bool compute(unsigned worker) {
#ifdef __IPU__
    const float2 *from = reinterpret_cast<const float2 *>(&b[0]), *add = reinterpret_cast<const float2 *>(&c[0]);
    float2 *to = reinterpret_cast<float2 *>(&a[0]);
    const float2 factor = {scale, scale};
    for (unsigned i = worker; i < size / 2; i += numWorkers())
      to[i] = from[i] + factor * add[i];
#else
    for (unsigned i = worker; i < size; i += numWorkers())
      a[i] = b[i] + scale * c[i];
#endif
    return true;
  }
};
