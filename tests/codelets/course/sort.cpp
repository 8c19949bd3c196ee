// Insertion into a sorted row: how long it takes depends on the data.
#include <algorithm>
#include <poplar/Vertex.hpp>
#ifdef __IPU__
#include <ipu_builtins.h>
#endif

using namespace poplar;

template <typename T, bool Descending>
class Sort : public Vertex {
 public:
  Input<Vector<T>> in;
  Input<Vector<int>> links;
  Output<Vector<T>> out;
  Output<Vector<unsigned>> cycles;

  static bool comes_before(T x, T y) {
    if constexpr (Descending) return x > y;
    else return x < y;
  }

  void compute() {
#ifdef __IPU__
    const unsigned begin = __builtin_ipu_get_scount_l();
#endif
    for (unsigned i = 0; i < in.size(); ++i) {
      const T value = in[i];
      unsigned place = i;
      for (; place > 0 && comes_before(value, out[place - 1]); --place) out[place] = out[place - 1];
      out[place] = value;
    }
#ifdef __IPU__
    cycles[0] = __builtin_ipu_get_scount_l() - begin;
#endif
    if (!std::is_sorted(&out[0], &out[0] + out.size(), comes_before)) out[0] = -1;
  }
};

template class Sort<float, true>;
template class Sort<float, false>;
