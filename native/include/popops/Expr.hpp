// Expressions over tensors for popops::map: a tree of plain values, which needs nothing to be running, so that the
// placeholders _1 to _20 can be constants.
#ifndef popops_Expr_hpp
#define popops_Expr_hpp

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <poplar/Graph.hpp>
#include <popops/ExprOp.hpp>

namespace popops {
namespace expr {

/// A node: the simulator's class of its name with these operands; a number, a type and an index where it has them.
class Expr {
public:
  Expr(std::string name, std::vector<Expr> operands) : name(std::move(name)), operands(std::move(operands)) {}
  /// A number stands for a constant.
  template <class T, class = typename std::enable_if<poplar::TypeTraits::isSimpleType<T>()>::type>
  Expr(T x)
      : name("Const"), traits(poplar::TypeTraits::make<T>()), value(reinterpret_cast<const char *>(&x), sizeof(T)) {}

  std::string name;
  std::vector<Expr> operands;
  poplar::TypeTraits traits = poplar::TypeTraits::make<float>();
  std::string value; // the bytes of a number
  poplar::Type type;
  unsigned index = 0;
};

/// A number: Const(1.5f).
class Const : public Expr {
public:
  template <class T> explicit Const(T x) : Expr(x) {}
};

/// A number of type HALF.
class ConstHalf : public Expr {
public:
  explicit ConstHalf(float x) : Expr(x) { name = "ConstHalf"; }
};

/// A value of another type.
class Cast : public Expr {
public:
  Cast(const Expr &a, const poplar::Type &bType) : Expr("Cast", {a}) { type = bType; }
};

/// An operation by its enumerator.
class UnaryOp : public Expr {
public:
  UnaryOp(UnaryOpType type, const Expr &a) : Expr("UnaryOp", {a}) { index = static_cast<unsigned>(type); }
};
class BinaryOp : public Expr {
public:
  BinaryOp(BinaryOpType type, const Expr &a, const Expr &b) : Expr("BinaryOp", {a, b}) {
    index = static_cast<unsigned>(type);
  }
};
class TernaryOp : public Expr {
public:
  TernaryOp(TernaryOpType type, const Expr &a, const Expr &b, const Expr &c) : Expr("TernaryOp", {a, b, c}) {
    index = static_cast<unsigned>(type);
  }
};

/// Any expression, for lists of them.
class Any : public Expr {
public:
  Any(const Expr &expr) : Expr(expr) {}
};

/// The tensor at a place of map's list, from 1 on.
class PlaceHolder : public Expr {
public:
  explicit PlaceHolder(unsigned place) : Expr("PlaceHolder", {}) { index = place; }
};

static const PlaceHolder _1(1);
static const PlaceHolder _2(2);
static const PlaceHolder _3(3);
static const PlaceHolder _4(4);
static const PlaceHolder _5(5);
static const PlaceHolder _6(6);
static const PlaceHolder _7(7);
static const PlaceHolder _8(8);
static const PlaceHolder _9(9);
static const PlaceHolder _10(10);
static const PlaceHolder _11(11);
static const PlaceHolder _12(12);
static const PlaceHolder _13(13);
static const PlaceHolder _14(14);
static const PlaceHolder _15(15);
static const PlaceHolder _16(16);
static const PlaceHolder _17(17);
static const PlaceHolder _18(18);
static const PlaceHolder _19(19);
static const PlaceHolder _20(20);

#define POPOPS_ONE(NAME)                                                                                               \
  struct NAME : Expr {                                                                                                 \
    explicit NAME(const Expr &a) : Expr(#NAME, {a}) {}                                                                 \
  }
#define POPOPS_TWO(NAME)                                                                                               \
  struct NAME : Expr {                                                                                                 \
    NAME(const Expr &a, const Expr &b) : Expr(#NAME, {a, b}) {}                                                        \
  }
#define POPOPS_THREE(NAME)                                                                                             \
  struct NAME : Expr {                                                                                                 \
    NAME(const Expr &a, const Expr &b, const Expr &c) : Expr(#NAME, {a, b, c}) {}                                      \
  }
#define POPOPS_OPERATOR(SIGN, NAME)                                                                                    \
  inline Expr operator SIGN(const Expr &a, const Expr &b) { return NAME(a, b); }

POPOPS_ONE(Abs);
POPOPS_ONE(Asin);
POPOPS_ONE(BitwiseNot);
POPOPS_ONE(Cbrt);
POPOPS_ONE(Ceil);
POPOPS_ONE(Cos);
POPOPS_ONE(Erf);
POPOPS_ONE(Exp);
POPOPS_ONE(Expm1);
POPOPS_ONE(Floor);
POPOPS_ONE(GeluErf);
POPOPS_ONE(Inv);
POPOPS_ONE(IsFinite);
POPOPS_ONE(IsInf);
POPOPS_ONE(IsNaN);
POPOPS_ONE(Log);
POPOPS_ONE(Log1p);
POPOPS_ONE(NearbyInt);
POPOPS_ONE(Neg);
POPOPS_ONE(Not);
POPOPS_ONE(Relu);
POPOPS_ONE(Round);
POPOPS_ONE(Rsqrt);
POPOPS_ONE(Sigmoid);
POPOPS_ONE(Signum);
POPOPS_ONE(Sin);
POPOPS_ONE(Sqrt);
POPOPS_ONE(Square);
POPOPS_ONE(Tan);
POPOPS_ONE(Tanh);
POPOPS_ONE(Trunc);

POPOPS_TWO(Add);
POPOPS_TWO(And);
POPOPS_TWO(Atan2);
POPOPS_TWO(BitwiseAnd);
POPOPS_TWO(BitwiseOr);
POPOPS_TWO(BitwiseXnor);
POPOPS_TWO(BitwiseXor);
POPOPS_TWO(Divide);
POPOPS_TWO(Equal);
POPOPS_TWO(Gt);
POPOPS_TWO(Gte);
POPOPS_TWO(InvStdDevToVariance);
POPOPS_TWO(Lt);
POPOPS_TWO(Lte);
POPOPS_TWO(Max);
POPOPS_TWO(Min);
POPOPS_TWO(Mul);
POPOPS_TWO(NotEqual);
POPOPS_TWO(Or);
POPOPS_TWO(Pow);
POPOPS_TWO(Rem);
POPOPS_TWO(Shl);
POPOPS_TWO(Shr);
POPOPS_TWO(ShrSE);
POPOPS_TWO(Sub);
POPOPS_TWO(VarianceToInvStdDev);

POPOPS_THREE(Clamp);
POPOPS_THREE(Select);

POPOPS_OPERATOR(+, Add)
POPOPS_OPERATOR(-, Sub)
POPOPS_OPERATOR(*, Mul)
POPOPS_OPERATOR(/, Divide)
POPOPS_OPERATOR(%, Rem)
POPOPS_OPERATOR(&, BitwiseAnd)
POPOPS_OPERATOR(|, BitwiseOr)
POPOPS_OPERATOR(^, BitwiseXor)
POPOPS_OPERATOR(<<, Shl)
POPOPS_OPERATOR(>>, Shr)
POPOPS_OPERATOR(&&, And)
POPOPS_OPERATOR(||, Or)
POPOPS_OPERATOR(==, Equal)
POPOPS_OPERATOR(!=, NotEqual)
POPOPS_OPERATOR(<, Lt)
POPOPS_OPERATOR(<=, Lte)
POPOPS_OPERATOR(>, Gt)
POPOPS_OPERATOR(>=, Gte)
inline Expr operator-(const Expr &a) { return Neg(a); }
inline Expr operator~(const Expr &a) { return BitwiseNot(a); }
inline Expr operator!(const Expr &a) { return Not(a); }

#undef POPOPS_ONE
#undef POPOPS_TWO
#undef POPOPS_THREE
#undef POPOPS_OPERATOR

} // namespace expr
} // namespace popops

#endif
