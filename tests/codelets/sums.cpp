// The kinds of field, in small vertices.
#include <cmath>
#include <poplar/HalfFloat.hpp>
#include <poplar/Vertex.hpp>

using namespace poplar;

static constexpr auto ONE_PTR = VectorLayout::ONE_PTR;

class SumVertex : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<float> out;

  bool compute() {
    *out = 0;
    for (const auto &v : in) *out += v;
    return true;
  }
};

// Fields need not be public, and may come from a base.
template <typename T>
class Scaled : public Vertex {
  Input<T> factor;

 protected:
  const unsigned times;
};

namespace ns {

template <typename T, bool Twice>
class [[poplar::constraint("elem(*a) != elem(*b)")]] Axpy : public Scaled<T> {
 public:
  Axpy();
  Input<Vector<T, ONE_PTR, 8>> a;
  InOut<Vector<T>> b;

  auto compute() -> bool;
  Input<T> extra;
};

template <typename T, bool Twice>
auto Axpy<T, Twice>::compute() -> bool {
  for (unsigned i = 0; i < b.size(); ++i) b[i] += a[i] * *extra * T(Twice ? 2 : 1);
  return true;
}

template class Axpy<float, true>;
template class Axpy<half, false>;

}  // namespace ns

class RowsVertex : public Vertex {
 public:
  Vector<Input<Vector<float>>> rows;
  Input<VectorList<int, VectorListLayout::DELTANELEMENTS>> list;
  Vector<Input<float>> parts;
  Vector<Output<Vector<float, ONE_PTR>>, ONE_PTR> out;
  Vector<unsigned short> table;
  float scale;

  void compute() {
    for (unsigned i = 0; i < rows.size(); ++i)
      for (unsigned j = 0; j < rows[i].size(); ++j) out[i][j] = rows[i][j] * scale + list[i][j] + *parts[i] + table[i];
  }
};

class MultiSquare : public MultiVertex {
 public:
  Input<Vector<half>> x;
  Output<Vector<half>> y;
  Output<Vector<unsigned>> who;

  bool compute(unsigned workerId) {
    for (unsigned i = workerId; i < x.size(); i += numWorkers()) y[i] = std::sqrt(x[i]) * x[i];
    who[workerId] = workerId + 1;
    return true;
  }
};

class Supervised : public SupervisorVertexIf<true> {
 public:
  InOut<int> count;

  bool compute() {
    *count += 1;
    return true;
  }
};

class HalfVertex : public Vertex {
 public:
  Input<Vector<float>> from;
  Output<Vector<half>> to;

  bool compute() {
    for (unsigned i = 0; i < to.size(); ++i) to[i] = from[i];
    return true;
  }
};

class Mapped : public Vertex {
 public:
  Input<Vector<float>> x;
  Output<float> y;

  bool compute() {
    half best = x[0] > 1.f ? half(x[0]) : half(1);
    y = std::exp(float(best)) + helper(x[1]);
    return true;
  }
  static float helper(float v) { return v / 4; }
};

// Tiles have 32-bit long and size_t; state that nobody sets is zero, and stays what compute makes of it.
class Wide : public Vertex {
 public:
  Input<Vector<size_t>> x;
  Output<long> y;
  size_t factor;
  unsigned runs;
  Vector<int> nothing;

  void compute() {
    ++runs;
    *y = -static_cast<long>(x[0] + x[1] * factor + nothing.size()) * runs;
  }
};
