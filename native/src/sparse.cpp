// Partitioners of sparse matrices: templates over the type of values, which are written here for float and double.
#include "tables_popsparse.hpp"

#include <popsparse/SparsePartitioner.hpp>

namespace poplar {
namespace bridge {

template <class T> struct ClassOf<popsparse::static_::Partitioner<T>> {
  static constexpr const char *name = "Partitioner";
};

template <class T> struct Convert<popsparse::static_::SparsityDataImpl<T>> {
  static py::object to(const popsparse::static_::SparsityDataImpl<T> &value) { return bridge::to(value.nzValues); }
  static popsparse::static_::SparsityDataImpl<T> from(const py::object &value) {
    return Convert<std::vector<T>>::from(value.attr("nzValues"));
  }
};

} // namespace bridge
} // namespace poplar

namespace popsparse {
namespace static_ {

namespace bridge = poplar::bridge;

template <typename T>
Partitioner<T>::Partitioner(const MatMulParams &params, const poplar::Type &dataType, const poplar::Target &target,
                            const poplar::OptionFlags &options, PlanningCache *cache, std::string name)
    : Handle([&] {
        static bridge::Place place{"simulator.poplibs.popsparse", "static_.Partitioner"};
        return bridge::made(place, params, dataType, target, options, cache, name);
      }()) {}

#define POPSPARSE_METHOD(RESULT, NAME, TAKEN)                                                                          \
  template <typename T> RESULT<T> Partitioner<T>::NAME(const TAKEN<T> &taken) const {                                  \
    static bridge::Name name{#NAME};                                                                                   \
    return bridge::method<RESULT<T>>(*this, name, taken);                                                              \
  }

POPSPARSE_METHOD(SparsityDataImpl, createSparsityDataImpl, CSCMatrix)
POPSPARSE_METHOD(SparsityDataImpl, createSparsityDataImpl, CSRMatrix)
POPSPARSE_METHOD(SparsityDataImpl, createSparsityDataImpl, COOMatrix)
POPSPARSE_METHOD(COOMatrix, sparsityDataImplToCOOMatrix, SparsityDataImpl)
POPSPARSE_METHOD(CSRMatrix, sparsityDataImplToCSRMatrix, SparsityDataImpl)
POPSPARSE_METHOD(CSCMatrix, sparsityDataImplToCSCMatrix, SparsityDataImpl)

template class Partitioner<float>;
template class Partitioner<double>;

} // namespace static_
} // namespace popsparse
