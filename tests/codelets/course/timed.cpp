// How long a loop takes on the supervisor and a dot product in the accumulators on a worker: two counters, two vertices.
#include <poplar/Vertex.hpp>
#ifdef __IPU__
#include <ipu_builtins.h>
#include <tilearch.h>
#endif

using namespace poplar;

// The time since it was made, in the manner of a stopwatch.
class Stopwatch {
  unsigned begin = 0;

 public:
#ifdef __IPU__
  static unsigned now() { return __builtin_ipu_get_scount_l(); }
#else
  static unsigned now() { return 0; }
#endif
  Stopwatch() : begin(now()) {}
  unsigned elapsed() const { return now() - begin; }
};

template <typename T>
class Timed : public Vertex {
 public:
  Input<Vector<T, VectorLayout::SPAN, 8>> in;
  Input<Vector<int>> links;
  Output<Vector<T>> out;
  Output<Vector<unsigned>> cycles;

  bool compute() {
    const Stopwatch whole;
    T sum = 0;
#ifdef __IPU__
    const T *x = &in[0];
    unsigned pairs = in.size() / 2 - 1;
    asm volatile(R"(
        setzi $a0, 8
        uput  $FP_CLR, $a0
        ld64step $a0:1, $mzero, %[x]+=, 1
      1:
        {
          ld64step $a0:1, $mzero, %[x]+=, 1
          f32v2mac $a0:1, $a0:1
        }
        brnzdec %[pairs], 1b
        f32v2gina $a2:3, $azeros, 0
        f32add %[sum], $a2, $a3
      )"
                 : [x] "+r"(x), [pairs] "+r"(pairs), [sum] "=r"(sum)
                 :
                 : "$a0:1", "$a2:3", "memory");
#else
    for (unsigned i = 0; i < in.size(); ++i) sum += in[i] * in[i];
#endif
    cycles[0] = whole.elapsed();
    const Stopwatch loop;
    for (unsigned i = 0; i < out.size(); ++i) out[i] = sum + i;
    cycles[1] = loop.elapsed();
    return true;
  }
};

template class Timed<float>;
