// Values of PopLibs that only go to Python.
#ifndef popvision_poplibs_hpp
#define popvision_poplibs_hpp

#include "convert.hpp"

#include <popops/Expr.hpp>
#include <popops/Loop.hpp>
#include <popops/Reduce.hpp>

namespace poplar {
namespace bridge {

template <> struct Convert<popops::expr::Expr> {
  static py::object to(const popops::expr::Expr &value);
};
template <> struct Convert<popops::ReduceParams> {
  static py::object to(const popops::ReduceParams &value);
};
// src/host_objects.cpp
template <> struct Convert<popops::CountedLoopBodyType> {
  static py::object to(const popops::CountedLoopBodyType &value);
};

} // namespace bridge
} // namespace poplar

#endif
