// Sparse products, as public programs build them: constant values from a partitioner, blocks and single elements.
#include "results.hpp"

#include <popsparse/MatMul.hpp>
#include <popsparse/MatMulParams.hpp>
#include <popsparse/SparsePartitioner.hpp>
#include <popsparse/codelets.hpp>
#include <poputil/exceptions.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
namespace static_ = popsparse::static_;

namespace {

/// Blocks on a diagonal and in the last row: 4 x 6 blocks.
popsparse::COOMatrix<float> matrix(std::size_t block) {
  std::vector<std::size_t> rows, columns;
  for (std::size_t i = 0; i < 4; ++i) {
    rows.push_back(i * block);
    columns.push_back((i + 1) * block);
  }
  for (std::size_t i : {0, 2, 5}) {
    rows.push_back(3 * block);
    columns.push_back(i * block);
  }
  std::vector<float> values(rows.size() * block * block);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 7) - 3;
  return {4 * block, 6 * block, values, columns, rows, {{block, block}}};
}

void product(Results &results, std::size_t block, const OptionFlags &options) {
  const std::string name = "blocks of " + std::to_string(block);
  Graph &graph = results.graph;
  const auto coo = matrix(block);
  const auto params = static_::MatMulParams::createForSparseDense(1, coo.numRows, coo.numColumns, 6);
  assert(params == static_::MatMulParams::createForSparseDense(1, params.getM(), params.getK(), params.getN()));
  assert(!params.isTransposed() && params.getNumGroups() == 1);
  static_::PlanningCache cache;
  const static_::Partitioner<float> partitioner(params, FLOAT, graph.getTarget(), options, &cache, name);
  const auto data = partitioner.createSparsityDataImpl(coo);
  const auto csr = partitioner.sparsityDataImplToCSRMatrix(data);
  assert(csr.getBlockSize() == block * block && csr.rowIndices.size() == 5);
  assert(partitioner.createSparsityDataImpl(partitioner.sparsityDataImplToCSCMatrix(data)).nzValues == data.nzValues);
  assert(partitioner.createSparsityDataImpl(csr).nzValues == data.nzValues);
  assert(partitioner.sparsityDataImplToCOOMatrix(data).columnIndices == csr.columnIndices);
  const auto made = static_::createSparseDenseMatMulLHS(graph, FLOAT, params, csr, {"lhs"}, options, &cache);
  Tensor values = graph.addConstant<float>(FLOAT, made.getNzValuesTensor().shape(), data.nzValues);
  graph.setTileMapping(values, graph.getTileMapping(made.getNzValuesTensor()));
  const static_::SparseTensor lhs(values, made.getOpMetaData());
  Tensor rhs = static_::createSparseDenseMatMulRHS(graph, FLOAT, params, csr, "rhs", options, &cache);
  results.filled(rhs, results.operand({coo.numColumns, 6}));
  results.read(name, static_::sparseDenseMatMul(graph, lhs, rhs, results.prog, false, false, "product", options, &cache));
}

void transposed(Results &results) {
  Graph &graph = results.graph;
  const auto floats = matrix(4);
  const popsparse::COOMatrix<double> coo(floats.numRows, floats.numColumns,
                                         {floats.nzValues.begin(), floats.nzValues.end()}, floats.columnIndices,
                                         floats.rowIndices, floats.getBlockDimensions());
  const auto params = static_::MatMulParams::createForDenseSparse(1, 5, coo.numRows, coo.numColumns);
  const static_::Partitioner<double> partitioner(params, FLOAT, graph.getTarget(), {});
  const auto data = partitioner.createSparsityDataImpl(coo);
  const auto csr = partitioner.sparsityDataImplToCSRMatrix(data);
  const auto rhs = static_::createDenseSparseMatMulRHS(graph, FLOAT, params, csr);
  const std::vector<float> numbers(data.nzValues.begin(), data.nzValues.end());
  Tensor values = graph.addConstant<float>(FLOAT, {numbers.size()}, numbers);
  graph.setTileMapping(values, 0);
  results.filled(rhs.getNzValuesTensor(), values);
  Tensor lhs = static_::createDenseSparseMatMulLHS(graph, FLOAT, params, csr);
  results.filled(lhs, results.operand({5, coo.numRows}));
  results.read("dense times sparse", static_::denseSparseMatMul(graph, lhs, rhs, results.prog));
  try {
    static_::denseSparseMatMul(graph, lhs, static_::SparseTensor(), results.prog);
    assert(false);
  } catch (const poplar_error &) {
  }
}

} // namespace

int main() {
  Device device = small_device();
  Graph graph(device);
  popsparse::addCodelets(graph);
  Results results(graph);
  product(results, 1, {});
  product(results, 4, {});
  product(results, 8, {{"nSplit", "2"}, {"numBands", "2"}});
  transposed(results);
  results.print(device);
}
