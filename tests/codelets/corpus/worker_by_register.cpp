// The worker's number in its status register.
#include <poplar/Vertex.hpp>
#include <ipu_builtins.h>
#include <tilearch.h>

using namespace poplar;

class Feature : public MultiVertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;

  bool compute(unsigned worker) {
    const unsigned number = __builtin_ipu_get(CSR_W_WSR__INDEX) & CSR_W_WSR__CTXTID_M1__MASK;
    for (unsigned i = worker; i < in.size(); i += CTXT_WORKERS) out[i] = number == worker && number == __builtin_ipu_get_worker_id() ? in[i] : -1;
    return true;
  }
};
