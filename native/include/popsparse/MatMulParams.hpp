#ifndef popsparse_MatMulParams_hpp
#define popsparse_MatMulParams_hpp

#include <cstddef>

#include <poplar/Handle.hpp>

namespace popsparse {
namespace static_ {

/// Sizes of a product with one sparse operand.
class MatMulParams : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  MatMulParams() = default;
  /// sparse [m][k] * dense [k][n]; dense [n][k] * sparse [k][m]
  static MatMulParams createForSparseDense(std::size_t groups, std::size_t m, std::size_t k, std::size_t n);
  static MatMulParams createForDenseSparse(std::size_t groups, std::size_t n, std::size_t k, std::size_t m);

  std::size_t getNumGroups() const;
  std::size_t getM() const;
  std::size_t getK() const;
  std::size_t getN() const;
  bool isTransposed() const;
};
inline bool operator==(const MatMulParams &a, const MatMulParams &b) { return poplar::bridge::equal(a, b); }
inline bool operator!=(const MatMulParams &a, const MatMulParams &b) { return !(a == b); }

} // namespace static_
} // namespace popsparse

#endif
