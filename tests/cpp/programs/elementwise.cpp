// Every element-wise operation of popops: by its function, in place, by its class in an expression and by its enumerator.
#include "results.hpp"

#include <popops/ElementWise.hpp>

#define UNARY(NAME)                                                                                                    \
  results.read(#NAME, popops::NAME(graph, x, prog));                                                                   \
  changed = results.variable(x);                                                                                       \
  popops::NAME##InPlace(graph, changed, prog);                                                                         \
  results.read(#NAME "InPlace", changed)
#define BINARY(NAME)                                                                                                   \
  results.read(#NAME, popops::NAME(graph, x, y, prog));                                                                \
  changed = results.variable(x);                                                                                       \
  popops::NAME##InPlace(graph, changed, y, prog);                                                                      \
  results.read(#NAME "InPlace", changed)
#define TEST(NAME) results.read(#NAME, popops::NAME(graph, x, prog))
#define COMPARISON(NAME) results.read(#NAME, popops::NAME(graph, x, y, prog))
#define ONE(NAME) results.read("expr " #NAME, popops::map(graph, pe::NAME(pe::_1), {x, y}, prog))
#define TWO(NAME) results.read("expr " #NAME, popops::map(graph, pe::NAME(pe::_1, pe::_2), {x, y}, prog))

using namespace poplar;
using namespace poplar::program;
namespace pe = popops::expr;

namespace {

Tensor numbers(Results &results, const Type &type, const std::vector<float> &values) {
  Tensor t = results.graph.addConstant<float>(FLOAT, {values.size()}, values);
  poputil::mapTensorLinearly(results.graph, t);
  return popops::cast(results.graph, t, type, results.prog);
}

void floats(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor x = results.variable(results.operand({4}));
  popops::mulInPlace(graph, x, 0.25f, prog);
  popops::addInPlace(graph, x, 0.5f, prog);
  Tensor y = popops::sub(graph, 1.25f, x, prog), changed;
  UNARY(abs); UNARY(asin); UNARY(cbrt); UNARY(ceil); UNARY(cos); UNARY(erf); UNARY(exp); UNARY(expm1); UNARY(floor);
  UNARY(geluErf); UNARY(inv); UNARY(log); UNARY(log1p); UNARY(nearbyInt); UNARY(neg); UNARY(relu); UNARY(round);
  UNARY(rsqrt); UNARY(sigmoid); UNARY(signum); UNARY(sin); UNARY(sqrt); UNARY(square); UNARY(tan); UNARY(tanh);
  UNARY(trunc);
  TEST(isFinite); TEST(isInf); TEST(isNaN);
  BINARY(add); BINARY(atan2); BINARY(div); BINARY(invStdDevToVariance); BINARY(max); BINARY(min); BINARY(mul);
  BINARY(pow); BINARY(rem); BINARY(sub); BINARY(varianceToInvStdDev);
  COMPARISON(eq); COMPARISON(gt); COMPARISON(gteq); COMPARISON(lt); COMPARISON(lteq); COMPARISON(neq);
  ONE(Abs); ONE(Asin); ONE(Cbrt); ONE(Ceil); ONE(Cos); ONE(Erf); ONE(Exp); ONE(Expm1); ONE(Floor); ONE(GeluErf);
  ONE(Inv); ONE(IsFinite); ONE(IsInf); ONE(IsNaN); ONE(Log); ONE(Log1p); ONE(NearbyInt); ONE(Neg); ONE(Relu);
  ONE(Round); ONE(Rsqrt); ONE(Sigmoid); ONE(Signum); ONE(Sin); ONE(Sqrt); ONE(Square); ONE(Tan); ONE(Tanh); ONE(Trunc);
  TWO(Add); TWO(Atan2); TWO(Divide); TWO(Equal); TWO(Gt); TWO(Gte); TWO(InvStdDevToVariance); TWO(Lt); TWO(Lte);
  TWO(Max); TWO(Min); TWO(Mul); TWO(NotEqual); TWO(Pow); TWO(Rem); TWO(Sub); TWO(VarianceToInvStdDev);
  results.read("clamp", popops::clamp(graph, x, results.scalar(0.25f), results.scalar(0.5f), prog));
  changed = results.variable(x);
  popops::clampInPlace(graph, changed, y, results.scalar(0.5f), prog);
  results.read("clampInPlace", changed);
  Tensor condition = popops::gt(graph, x, 0.5f, prog);
  results.read("select", popops::select(graph, x, y, condition, prog));
  changed = results.variable(x);
  popops::selectInPlace(graph, changed, y, condition, prog);
  results.read("selectInPlace", changed);
  const pe::Any any = pe::Clamp(pe::_1, 0.25f, pe::_2);
  results.read("expr Any", popops::map(graph, any, {x, y}, prog));
  results.read("expr Select", popops::map(graph, pe::Select(pe::_1, pe::Const(2.0f), pe::_1 > pe::_2), {x, y}, prog));
  results.read("expr Cast", popops::map(graph, pe::Cast(pe::_1 * 10.0f, INT), {x}, prog));
  results.read("UnaryOp", popops::map(graph, pe::UnaryOp(pe::UnaryOpType::SQRT, pe::_1), {x}, prog));
  results.read("BinaryOp", popops::map(graph, pe::BinaryOp(pe::BinaryOpType::SUBTRACT, pe::_1, pe::_2), {x, y}, prog));
  const pe::TernaryOp clamped(pe::TernaryOpType::CLAMP, pe::_1, pe::_2, 0.5f);
  results.read("TernaryOp", popops::map(graph, clamped, {x, y}, prog));
  changed = results.variable(x);
  popops::mapInPlace(graph, pe::ConstHalf(0.5f) + -pe::_1, {changed}, prog);
  results.read("mapInPlace", changed);
  results.read("numbers on either side", popops::sub(graph, popops::sub(graph, 1.0f, x, prog), 2.0f, prog));
  results.read("map of operators",
               concat({popops::map(graph, pe::UnaryOpType::SQRT, x, prog),
                       popops::map(graph, pe::BinaryOpType::MULTIPLY, x, y, prog),
                       popops::map(graph, pe::TernaryOpType::CLAMP, x, y, results.scalar(0.5f), prog)}));
  popops::mapInPlace(graph, pe::UnaryOpType::SQUARE, changed, prog);
  popops::mapInPlace(graph, pe::BinaryOpType::ADD, changed, y, prog);
  popops::mapInPlace(graph, pe::TernaryOpType::CLAMP, changed, x, y, prog);
  results.read("mapInPlace of operators", changed);
  Tensor output = popops::createOutputForElementWiseOp(graph, {x, y}, HALF);
  results.number("createOutputForElementWiseOp", static_cast<double>(output.numElements()));
}

void integers(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor x = numbers(results, INT, {1, 5, -12, 7}), y = numbers(results, INT, {1, 3, 2, 4}), changed;
  UNARY(bitwiseNot); UNARY(countLeadingZeros); UNARY(popcount);
  BINARY(bitwiseAnd); BINARY(bitwiseOr); BINARY(bitwiseXnor); BINARY(bitwiseXor); BINARY(shiftLeft);
  BINARY(shiftRight); BINARY(shiftRightSignExtend);
  ONE(BitwiseNot);
  TWO(BitwiseAnd); TWO(BitwiseOr); TWO(BitwiseXnor); TWO(BitwiseXor); TWO(Shl); TWO(Shr); TWO(ShrSE);
}

void truths(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor x = numbers(results, BOOL, {1, 0, 1, 0}), y = numbers(results, BOOL, {1, 1, 0, 0}), changed;
  UNARY(logicalNot);
  BINARY(logicalAnd); BINARY(logicalOr);
  ONE(Not);
  TWO(And); TWO(Or);
  changed = results.variable(x);
  popops::eqInPlace(graph, changed, y, prog);
  popops::neqInPlace(graph, changed, y, prog);
  popops::gtInPlace(graph, changed, y, prog);
  popops::gteqInPlace(graph, changed, y, prog);
  popops::ltInPlace(graph, changed, y, prog);
  popops::lteqInPlace(graph, changed, y, prog);
  results.read("comparisons in place", changed);
}

} // namespace

int main() {
  Device device = small_device();
  Graph graph(device);
  Results results(graph);
  floats(results);
  integers(results);
  truths(results);
  results.print(device);
}
