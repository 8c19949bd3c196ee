// A layer of a graph network: each node takes the mean of its neighbours' features, and of itself; links hold three
// neighbours a node. Inline assembly sums pairs of features on hardware.
#include <poplar/Vertex.hpp>
#ifdef __IPU__
#include <ipu_builtins.h>
#include <ipudef.h>
#endif

using namespace poplar;

constexpr unsigned FEATURES = 2, NEIGHBOURS = 3;

template <typename T, typename Activation>
class GraphLayer : public MultiVertex {
 public:
  Input<Vector<T, VectorLayout::SPAN, 8>> in;
  Input<Vector<int>> links;
  Output<Vector<T, VectorLayout::SPAN, 8>> out;
  Output<Vector<unsigned>> cycles;

  bool compute(unsigned workerId) {
    const unsigned nodes = in.size() / FEATURES;
    const Activation activation;
#ifdef __IPU__
    const unsigned begin = __builtin_ipu_get_scount_l();
#endif
    for (unsigned node = workerId; node < nodes; node += numWorkers()) {
      T sums[FEATURES] = {in[FEATURES * node], in[FEATURES * node + 1]};
      for (unsigned k = 0; k < NEIGHBOURS; ++k) {
        const unsigned other = links[NEIGHBOURS * node + k] % nodes;
#ifdef __IPU__
        float2 pair = {sums[0], sums[1]};
        asm volatile(R"(
            ld64     $a0:1, %[features], $mzero, 0
            f32v2add %[pair], %[pair], $a0:1
          )"
                     : [pair] "+r"(pair)
                     : [features] "r"(&in[FEATURES * other])
                     : "$a0:1", "memory");
        sums[0] = pair[0];
        sums[1] = pair[1];
#else
        for (unsigned f = 0; f < FEATURES; ++f) sums[f] += in[FEATURES * other + f];
#endif
      }
      for (unsigned f = 0; f < FEATURES; ++f) out[FEATURES * node + f] = activation(sums[f] / (NEIGHBOURS + 1));
    }
#ifdef __IPU__
    cycles[workerId] = __builtin_ipu_get_scount_l() - begin;
#endif
    return true;
  }
};

struct Relu {
  template <typename T>
  T operator()(T x) const {
    return x > 5 ? x : T(5);
  }
};

template class GraphLayer<float, Relu>;
