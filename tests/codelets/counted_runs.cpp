// Vertices whose work depends on their data. Each trip of a volatile sum is a load, an addition, a store and the trip.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>
using namespace poplar;

static int summed(int trips) {
  volatile int sum = 0;
  for (int i = 0; i < trips; ++i) sum = sum + 3;
  return sum;
}

class Trips : public Vertex {
 public:
  Input<int> n;
  Output<int> out;
  bool compute() {
    *out = summed(*n);
    return true;
  }
};

// The same trip with an instruction of the random generator in it.
#define DRAWING(NAME, TYPE, DRAW)                                             \
  class NAME : public Vertex {                                                \
   public:                                                                    \
    Input<int> n;                                                             \
    Output<int> out;                                                          \
    bool compute() {                                                          \
      volatile int sum = 0;                                                   \
      for (int i = 0, trips = *n; i < trips; ++i) sum = sum + 3, DRAW();                     \
      *out = sum;                                                             \
      return true;                                                            \
    }                                                                         \
  };
DRAWING(Urand32, unsigned, __builtin_ipu_urand32)
DRAWING(Urand64, unsigned long long, __builtin_ipu_urand64)
DRAWING(UrandF32, float, __builtin_ipu_urand_f32)
DRAWING(UrandF16, half, __builtin_ipu_urand_f16)
DRAWING(Grand, float2, __builtin_ipu_f32v2grand)

// Points in a square, and those of them that lie in the circle.
class Pi : public Vertex {
 public:
  Input<int> n;
  Output<int> out;
  bool compute() {
    int hits = 0;
    for (int i = 0, trips = *n; i < trips; ++i) {
      const float x = __builtin_ipu_urand_f32(), y = __builtin_ipu_urand_f32();
      hits += x * x + y * y < 0.25f;
    }
    *out = hits;
    return true;
  }
};

class Branches : public Vertex {
 public:
  Input<int> n;
  Output<int> out;
  bool compute() {
    *out = *n % 2 ? summed(100) : summed(300);
    return true;
  }
};

class Nested : public Vertex {
 public:
  Input<int> n;
  Output<int> out;
  bool compute() {
    volatile int sum = 0;
    for (int i = 0; i < *n; ++i)
      for (int j = 0; j <= i; ++j) sum = sum + 3;
    *out = sum;
    return true;
  }
};

class Found : public Vertex {
 public:
  Input<int> n;
  Input<Vector<int>> in;
  Output<int> out;
  bool compute() {
    unsigned i = 0;
    while (i < in.size() && in[i] != *n) ++i;
    *out = i;
    return true;
  }
};

class Shares : public MultiVertex {
 public:
  Input<Vector<int>> in;
  Output<Vector<int>> out;
  bool compute(unsigned workerId) {
    out[workerId] = summed(in[workerId]);
    return true;
  }
};

class Alone : public SupervisorVertex {
 public:
  Input<int> n;
  Output<int> out;
  bool compute() {
    *out = summed(*n);
    return true;
  }
};

class Doubled : public Vertex {
 public:
  Input<int> n;
  Output<int> out;
  bool compute() {
    half x = 1;
    for (int i = 0; i < *n; ++i) x = x * half(2);
    *out = static_cast<int>(static_cast<float>(x));
    return true;
  }
};
