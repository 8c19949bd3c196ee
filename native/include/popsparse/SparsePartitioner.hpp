// The values of sparse matrices in the order of the device, and back.
#ifndef popsparse_SparsePartitioner_hpp
#define popsparse_SparsePartitioner_hpp

#include <string>
#include <utility>
#include <vector>

#include <poplar/OptionFlags.hpp>
#include <poplar/Target.hpp>
#include <poplar/Type.hpp>
#include <popsparse/MatMulParams.hpp>
#include <popsparse/PlanningCache.hpp>
#include <popsparse/SparseStorageFormats.hpp>

namespace popsparse {
namespace static_ {

/// Values in the order of the device.
template <typename T> struct SparsityDataImpl {
  SparsityDataImpl(std::vector<T> nzValues) : nzValues(std::move(nzValues)) {}
  std::vector<T> nzValues;
};

/// For the sparse tensor that is made with the same parameters, type, target and options; T is float or double. The
/// first matrix fixes where the blocks are.
template <typename T> class Partitioner : public poplar::bridge::Handle {
public:
  Partitioner(const MatMulParams &params, const poplar::Type &dataType, const poplar::Target &target,
              const poplar::OptionFlags &options, PlanningCache *cache = nullptr, std::string name = "");

  SparsityDataImpl<T> createSparsityDataImpl(const CSCMatrix<T> &matrix) const;
  SparsityDataImpl<T> createSparsityDataImpl(const CSRMatrix<T> &matrix) const;
  SparsityDataImpl<T> createSparsityDataImpl(const COOMatrix<T> &matrix) const;
  COOMatrix<T> sparsityDataImplToCOOMatrix(const SparsityDataImpl<T> &sparsityDataImpl) const;
  CSRMatrix<T> sparsityDataImplToCSRMatrix(const SparsityDataImpl<T> &sparsityDataImpl) const;
  CSCMatrix<T> sparsityDataImplToCSCMatrix(const SparsityDataImpl<T> &sparsityDataImpl) const;
};

} // namespace static_
} // namespace popsparse

#endif
