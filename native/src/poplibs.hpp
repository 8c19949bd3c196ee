// PopLibs' expressions, which only go to Python, and its sparse matrices.
#ifndef popvision_poplibs_hpp
#define popvision_poplibs_hpp

#include "convert.hpp"

#include <popops/Expr.hpp>
#include <popsparse/SparseStorageFormats.hpp>

namespace poplar {
namespace bridge {

template <> struct Convert<popops::expr::Expr> {
  static py::object to(const popops::expr::Expr &value);
};

/// Sparse matrices: the simulator has a class for each format, whose arguments are the fields.
#define POPVISION_FORMAT(NAME)                                                                                         \
  template <class T> struct Convert<popsparse::NAME<T>> {                                                              \
    static py::object to(const popsparse::NAME<T> &value) {                                                            \
      static Place place{"simulator.poplibs.popsparse", #NAME};                                                        \
      const std::vector<std::size_t> block{value.getNumRowsInBlock(), value.getNumColumnsInBlock()};                   \
      return call(place.get(), value.numRows, value.numColumns,                                                        \
                  array_object(value.nzValues.data(), TypeTraits::make<T>(), value.nzValues.size()),                   \
                  value.columnIndices, value.rowIndices, block);                                                       \
    }                                                                                                                  \
    static popsparse::NAME<T> from(const py::object &value) {                                                          \
      const auto field = [&](const char *name) { return py::object(value.attr(name)); };                               \
      using Indices = Convert<std::vector<std::size_t>>;                                                               \
      const std::vector<std::size_t> block = Indices::from(field("blockDimensions"));                                  \
      return {Convert<std::size_t>::from(field("numRows")),                                                            \
              Convert<std::size_t>::from(field("numColumns")),                                                         \
              Convert<std::vector<T>>::from(field("nzValues")),                                                        \
              Indices::from(field("columnIndices")),                                                                   \
              Indices::from(field("rowIndices")),                                                                      \
              {{block[0], block[1]}}};                                                                                 \
    }                                                                                                                  \
  }
POPVISION_FORMAT(COOMatrix);
POPVISION_FORMAT(CSRMatrix);
POPVISION_FORMAT(CSCMatrix);
#undef POPVISION_FORMAT

} // namespace bridge
} // namespace poplar

#endif
