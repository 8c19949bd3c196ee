// The C++ codelets behind published figures, each as its source describes it.
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>
#include <poplar/VectorTypes.hpp>

using namespace poplar;

// STREAM Triad as one writes it first: a = b + q c.
template <typename T>
class Triad : public Vertex {
 public:
  Output<Vector<T>> a;
  Input<Vector<T>> b;
  Input<Vector<T>> c;
  const T q;

  bool compute() {
    for (unsigned i = 0; i < a.size(); ++i) a[i] = b[i] + q * c[i];
    return true;
  }
};

template class Triad<float>;
template class Triad<half>;

// The same with the tile's vector instructions: two floats or four halves an instruction.
template <typename T>
class VectorTriad : public Vertex {
  using Element = typename std::remove_reference<decltype(T()[0])>::type;

 public:
  Output<Vector<Element, VectorLayout::SPAN, 8>> a;
  Input<Vector<Element, VectorLayout::SPAN, 8>> b;
  Input<Vector<Element, VectorLayout::SPAN, 8>> c;
  const Element q;

  bool compute() {
    T *to = reinterpret_cast<T *>(a.data());
    const T *from = reinterpret_cast<const T *>(b.data()), *times = reinterpret_cast<const T *>(c.data());
    T factor{};
    for (unsigned i = 0; i < sizeof(T) / sizeof(Element); ++i) factor[i] = q;
    for (unsigned i = 0; i < a.size() / (sizeof(T) / sizeof(Element)); ++i) to[i] = from[i] + factor * times[i];
    return true;
  }
};

template class VectorTriad<float2>;
template class VectorTriad<half4>;

// The loop of the lightweight profiling tutorial: its counter lies in memory.
template <unsigned Trips>
class VolatileLoop : public SupervisorVertex {
 public:
  bool compute() {
    for (volatile unsigned i = 0; i < Trips; i = i + 1) {
    }
    return true;
  }
};

template class VolatileLoop<100>;
template class VolatileLoop<600>;
template class VolatileLoop<6000>;

// A 3 x 3 Gaussian blur of one row of four interleaved channels, two channels at a time: 8 additions and 3
// multiplications for 9 loads and a store, 11 operations for 40 bytes a channel.
class Blur : public Vertex {
 public:
  Input<Vector<float, VectorLayout::SPAN, 8>> above;
  Input<Vector<float, VectorLayout::SPAN, 8>> here;
  Input<Vector<float, VectorLayout::SPAN, 8>> below;
  Output<Vector<float, VectorLayout::SPAN, 8>> out;

  bool compute() {
    const float2 *up = reinterpret_cast<const float2 *>(above.data());
    const float2 *mid = reinterpret_cast<const float2 *>(here.data());
    const float2 *down = reinterpret_cast<const float2 *>(below.data());
    float2 *to = reinterpret_cast<float2 *>(out.data());
    const float2 corner = {1 / 16.f, 1 / 16.f}, edge = {1 / 8.f, 1 / 8.f}, centre = {1 / 4.f, 1 / 4.f};
    for (unsigned i = 2; i < out.size() / 2 + 2; ++i)
      to[i - 2] = corner * (up[i - 2] + up[i + 2] + down[i - 2] + down[i + 2]) +
                  edge * (up[i] + mid[i - 2] + mid[i + 2] + down[i]) + centre * mid[i];
    return true;
  }
};

// A mean of 1 / (1 + x^2) over the trips of one worker of each tile, as a public benchmark of pi integrates.
class Pi : public Vertex {
 public:
  Output<Vector<float>> out;
  const unsigned n;
  const float slice;

  bool compute() {
    float sum = 0;
    for (unsigned i = 0; i < n; ++i) {
      const float x = (i - 0.5f) * slice;
      sum += 4.0f / (1.0f + x * x);
    }
    out[0] = sum;
    return true;
  }
};

// Vectors of four floats times one 4 x 4 matrix: 16 multiplications and 12 additions for each.
class Transform : public MultiVertex {
 public:
  Input<Vector<float>> matrix;
  InOut<Vector<float>> vectors;

  bool compute(unsigned worker) {
    for (unsigned v = 4 * worker; v < vectors.size(); v += 4 * MultiVertex::numWorkers()) {
      const float x = vectors[v], y = vectors[v + 1], z = vectors[v + 2], w = vectors[v + 3];
      for (unsigned i = 0; i < 4; ++i)
        vectors[v + i] = matrix[4 * i] * x + matrix[4 * i + 1] * y + matrix[4 * i + 2] * z + matrix[4 * i + 3] * w;
    }
    return true;
  }
};

// The same with pairs of floats.
class TransformPairs : public MultiVertex {
 public:
  Input<Vector<float, VectorLayout::SPAN, 8>> matrix;
  InOut<Vector<float, VectorLayout::SPAN, 8>> vectors;

  bool compute(unsigned worker) {
    const float2 *m = reinterpret_cast<const float2 *>(&matrix[0]);
    const float2 *from = reinterpret_cast<const float2 *>(&vectors[4 * worker]);
    float *to = &vectors[4 * worker];
    const float *end = &vectors[0] + vectors.size();
    while (to < end) {
      const float2 xy = from[0], zw = from[1];
      for (unsigned i = 0; i < 4; ++i) {
        const float2 sums = m[2 * i] * xy + m[2 * i + 1] * zw;
        to[i] = sums[0] + sums[1];
      }
      from += 2 * MultiVertex::numWorkers();
      to += 4 * MultiVertex::numWorkers();
    }
    return true;
  }
};
