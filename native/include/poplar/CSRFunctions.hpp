// Flags of the tiles' floating-point arithmetic, set by programs.
#ifndef poplar_CSRFunctions_hpp
#define poplar_CSRFunctions_hpp

#include <poplar/Graph.hpp>

namespace poplar {

/// inv, div0, oflo: stop at an invalid operation, a division by zero, an overflow; esr: round halves stochastically;
/// nanoo: NaN where a half overflows, in place of the largest half.
struct FloatingPointBehaviour {
  FloatingPointBehaviour(bool inv = true, bool div0 = true, bool oflo = true, bool esr = true, bool nanoo = true)
      : inv(inv), div0(div0), oflo(oflo), esr(esr), nanoo(nanoo) {}
  FloatingPointBehaviour operator~() const { return {!inv, !div0, !oflo, !esr, !nanoo}; }
  FloatingPointBehaviour operator&(const FloatingPointBehaviour &b) const {
    return {inv && b.inv, div0 && b.div0, oflo && b.oflo, esr && b.esr, nanoo && b.nanoo};
  }
  FloatingPointBehaviour operator|(const FloatingPointBehaviour &b) const {
    return {inv || b.inv, div0 || b.div0, oflo || b.oflo, esr || b.esr, nanoo || b.nanoo};
  }
  bool inv, div0, oflo, esr, nanoo;
};

/// Set the flags of all tiles: those given, or those of a tensor that getAndModifyFloatingPointBehaviour returned.
void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog, const FloatingPointBehaviour &behaviour,
                               const DebugContext &debugContext = {});
void setFloatingPointBehaviour(Graph &graph, program::Sequence &prog, const Tensor &behaviour,
                               const DebugContext &debugContext = {});
/// Turn stochastic rounding of halves on or off.
void setStochasticRounding(Graph &graph, program::Sequence &prog, bool behaviour,
                           const DebugContext &debugContext = {});
/// Clear flags, then set others; the result holds the old ones of each tile.
Tensor getAndModifyFloatingPointBehaviour(Graph &graph, program::Sequence &prog, const FloatingPointBehaviour &clear,
                                          const FloatingPointBehaviour &set, const DebugContext &debugContext = {});

} // namespace poplar

#endif
