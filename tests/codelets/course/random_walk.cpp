// Walks of steps up and down by a generator of the walker's own, so that every host sees the same.
#include <cstdint>
#include <poplar/Vertex.hpp>
#ifdef __IPU__
#include <ipu_builtins.h>
#endif

namespace walk {

class Generator {
  uint32_t state;

 public:
  explicit Generator(uint32_t seed) : state(seed * 2654435761u + 1) {}
  uint32_t next() {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
  }
};

}  // namespace walk

template <typename T, unsigned Steps>
class [[poplar::constraint("elem(*in) != elem(*out)")]] RandomWalk : public poplar::MultiVertex {
 public:
  poplar::Input<poplar::Vector<T>> in;
  poplar::Input<poplar::Vector<int>> links;
  poplar::Output<poplar::Vector<T>> out;
  poplar::Output<poplar::Vector<unsigned>> cycles;

  bool compute(unsigned workerId) {
#ifdef __IPU__
    const unsigned begin = __builtin_ipu_get_scount_l();
#endif
    for (unsigned i = workerId; i < in.size(); i += numWorkers()) {
      walk::Generator generator(i + 7);
      T place = in[i];
      unsigned left = Steps;
      while (left-- > 0) {
        const uint32_t bits = generator.next();
        place += bits & 1 ? T(1) : T(-1);
        if ((bits & 15) == 0) break;  // the walker rests
      }
      out[i] = place;
    }
#ifdef __IPU__
    cycles[workerId] = __builtin_ipu_get_scount_l() - begin;
#endif
    return true;
  }
};

template class RandomWalk<float, 64>;
