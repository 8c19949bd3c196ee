// popops' element-wise operations: a new tensor, or, with InPlace, the result in the first operand.
//
// One row for each operation; a macro of three holds its forms. Operands are broadcast against each other.
#ifndef popops_ElementWise_hpp
#define popops_ElementWise_hpp

#include <vector>

#include <popops/ElementWiseUtil.hpp>
#include <popops/Expr.hpp>

#define POPOPS_REST                                                                                                    \
  poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},                                      \
      const poplar::OptionFlags &options = {}

#define POPOPS_UNARY(NAME)                                                                                             \
  poplar::Tensor NAME(poplar::Graph &graph, const poplar::Tensor &A, POPOPS_REST);                                     \
  void NAME##InPlace(poplar::Graph &graph, const poplar::Tensor &A, POPOPS_REST)

#define POPOPS_BINARY(NAME)                                                                                            \
  poplar::Tensor NAME(poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B, POPOPS_REST);            \
  poplar::Tensor NAME(poplar::Graph &graph, float A, const poplar::Tensor &B, POPOPS_REST);                            \
  poplar::Tensor NAME(poplar::Graph &graph, const poplar::Tensor &A, float B, POPOPS_REST);                            \
  void NAME##InPlace(poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B, POPOPS_REST);             \
  void NAME##InPlace(poplar::Graph &graph, const poplar::Tensor &A, float B, POPOPS_REST)

#define POPOPS_TERNARY(NAME)                                                                                           \
  poplar::Tensor NAME(poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B, const poplar::Tensor &C, \
                      POPOPS_REST);                                                                                    \
  void NAME##InPlace(poplar::Graph &graph, const poplar::Tensor &A, const poplar::Tensor &B, const poplar::Tensor &C,  \
                     POPOPS_REST)

namespace popops {

/// An expression over tensors, which stand in it as expr::_1, expr::_2 ...
poplar::Tensor map(poplar::Graph &graph, const expr::Expr &expr, const std::vector<poplar::Tensor> &ts, POPOPS_REST);
void mapInPlace(poplar::Graph &graph, const expr::Expr &expr, const std::vector<poplar::Tensor> &ts, POPOPS_REST);
poplar::Tensor map(poplar::Graph &graph, expr::UnaryOpType op, const poplar::Tensor &t, POPOPS_REST);
poplar::Tensor map(poplar::Graph &graph, expr::BinaryOpType op, const poplar::Tensor &a, const poplar::Tensor &b,
                   POPOPS_REST);
poplar::Tensor map(poplar::Graph &graph, expr::TernaryOpType op, const poplar::Tensor &a, const poplar::Tensor &b,
                   const poplar::Tensor &c, POPOPS_REST);
void mapInPlace(poplar::Graph &graph, expr::UnaryOpType op, const poplar::Tensor &t, POPOPS_REST);
void mapInPlace(poplar::Graph &graph, expr::BinaryOpType op, const poplar::Tensor &a, const poplar::Tensor &b,
                POPOPS_REST);
void mapInPlace(poplar::Graph &graph, expr::TernaryOpType op, const poplar::Tensor &a, const poplar::Tensor &b,
                const poplar::Tensor &c, POPOPS_REST);

/// Whether elements are finite, infinite or no number: BOOL.
poplar::Tensor isFinite(poplar::Graph &graph, const poplar::Tensor &A, POPOPS_REST);
poplar::Tensor isInf(poplar::Graph &graph, const poplar::Tensor &A, POPOPS_REST);
poplar::Tensor isNaN(poplar::Graph &graph, const poplar::Tensor &A, POPOPS_REST);

POPOPS_UNARY(abs);
POPOPS_UNARY(asin);
POPOPS_UNARY(bitwiseNot);
POPOPS_UNARY(cbrt);
POPOPS_UNARY(ceil);
POPOPS_UNARY(cos);
POPOPS_UNARY(countLeadingZeros);
POPOPS_UNARY(erf);
POPOPS_UNARY(exp);
POPOPS_UNARY(expm1);
POPOPS_UNARY(floor);
POPOPS_UNARY(geluErf);
POPOPS_UNARY(inv);
POPOPS_UNARY(log);
POPOPS_UNARY(log1p);
POPOPS_UNARY(logicalNot);
POPOPS_UNARY(nearbyInt);
POPOPS_UNARY(neg);
POPOPS_UNARY(popcount);
POPOPS_UNARY(relu);
POPOPS_UNARY(round);
POPOPS_UNARY(rsqrt);
POPOPS_UNARY(sigmoid);
POPOPS_UNARY(signum);
POPOPS_UNARY(sin);
POPOPS_UNARY(sqrt);
POPOPS_UNARY(square);
POPOPS_UNARY(tan);
POPOPS_UNARY(tanh);
POPOPS_UNARY(trunc);

POPOPS_BINARY(add);
POPOPS_BINARY(atan2);
POPOPS_BINARY(bitwiseAnd);
POPOPS_BINARY(bitwiseOr);
POPOPS_BINARY(bitwiseXnor);
POPOPS_BINARY(bitwiseXor);
POPOPS_BINARY(div);
POPOPS_BINARY(eq);
POPOPS_BINARY(gt);
POPOPS_BINARY(gteq);
POPOPS_BINARY(invStdDevToVariance);
POPOPS_BINARY(logicalAnd);
POPOPS_BINARY(logicalOr);
POPOPS_BINARY(lt);
POPOPS_BINARY(lteq);
POPOPS_BINARY(max);
POPOPS_BINARY(min);
POPOPS_BINARY(mul);
POPOPS_BINARY(neq);
POPOPS_BINARY(pow);
POPOPS_BINARY(rem);
POPOPS_BINARY(shiftLeft);
POPOPS_BINARY(shiftRight);
POPOPS_BINARY(shiftRightSignExtend);
POPOPS_BINARY(sub);
POPOPS_BINARY(varianceToInvStdDev);

POPOPS_TERNARY(clamp);
POPOPS_TERNARY(select);

} // namespace popops

#undef POPOPS_REST
#undef POPOPS_UNARY
#undef POPOPS_BINARY
#undef POPOPS_TERNARY

#endif
