// PopLibs' expressions, which only go to Python.
#ifndef popvision_poplibs_hpp
#define popvision_poplibs_hpp

#include "convert.hpp"

#include <popops/Expr.hpp>

namespace poplar {
namespace bridge {

template <> struct Convert<popops::expr::Expr> {
  static py::object to(const popops::expr::Expr &value);
};

} // namespace bridge
} // namespace poplar

#endif
