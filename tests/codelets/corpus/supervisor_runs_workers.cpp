// A SupervisorVertex that runs another codelet on its workers.
#include <arch/gc_tile_defines.h>
#include <poplar/Vertex.hpp>

using namespace poplar;

class Worker : public Vertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  bool compute() {
    const unsigned worker = __builtin_ipu_get(CSR_W_WSR__INDEX) & CSR_W_WSR__CTXTID_M1__MASK;
    for (unsigned i = worker; i < in.size(); i += CTXT_WORKERS) out[i] = in[i] + worker;
    return true;
  }
};

class Feature : public SupervisorVertex {
 public:
  Input<Vector<float>> in;
  Output<Vector<float>> out;
  __attribute__((target("supervisor"))) bool compute() {
    asm volatile(
        "setzi  $m1, __runCodelet_Worker\n"
        "runall $m1, $m0, 0\n"
        "sync   %[zone]\n" ::[zone] "i"(TEXCH_SYNCZONE_LOCAL));
    out[0] = -1;
    return true;
  }
};
