// A product of a sparse matrix, known when the program is compiled, and a dense one, by popsparse.
//
//     make sparse_product && ./sparse_product
#include <cstdio>
#include <numeric>

#include <poplar/Graph.hpp>
#include <popsparse/MatMul.hpp>
#include <popsparse/SparsePartitioner.hpp>
#include <popsparse/codelets.hpp>

#include "device.hpp"

using namespace poplar;
using namespace poplar::program;

static const std::size_t SIDE = 256, ROW_BLOCKS = 4, BLOCK = 4, COLUMNS = 16, ROWS = SIDE / BLOCK;

/// Multiples of 1/16 below 4, whose products and sums are exact.
static std::vector<float> valuesOf(std::size_t count, unsigned seed) {
  std::vector<float> values;
  for (unsigned number : numbers(count, seed))
    values.push_back(number % 64 / 16.0f);
  return values;
}

/// A square matrix with ROW_BLOCKS blocks in each row of blocks, at places of a fixed random sequence.
static popsparse::CSRMatrix<float> matrix() {
  std::vector<std::size_t> columns, starts;
  for (unsigned number : numbers(ROWS * ROW_BLOCKS, 7)) {
    const std::size_t part = columns.size() % ROW_BLOCKS, width = ROWS / ROW_BLOCKS;
    columns.push_back((number % width + part * width) * BLOCK);
  }
  for (std::size_t row = 0; row <= ROWS; ++row)
    starts.push_back(row * ROW_BLOCKS * BLOCK * BLOCK);
  return {SIDE, SIDE, valuesOf(columns.size() * BLOCK * BLOCK, 3), columns, starts, {{BLOCK, BLOCK}}};
}

int main() {
  Device device = attached();
  Graph graph(device.getTarget());
  Sequence prog;
  popsparse::addCodelets(graph);
  const auto params = popsparse::static_::MatMulParams::createForSparseDense(1, SIDE, SIDE, COLUMNS);
  const auto csr = matrix();
  auto sparse = popsparse::static_::createSparseDenseMatMulLHS(graph, FLOAT, params, csr, "sparse");
  Tensor dense = popsparse::static_::createSparseDenseMatMulRHS(graph, FLOAT, params, csr, "dense");
  Tensor out = popsparse::static_::sparseDenseMatMul(graph, sparse, dense, prog, false, false, "product");
  graph.createHostWrite("values", sparse.getNzValuesTensor());
  graph.createHostWrite("dense", dense);
  graph.createHostRead("out", out);
  Engine engine(graph, prog, counted());
  engine.load(device);
  popsparse::static_::Partitioner<float> partitioner(params, FLOAT, device.getTarget(), {});
  const auto values = partitioner.createSparsityDataImpl(csr).nzValues;
  const auto operand = valuesOf(SIDE * COLUMNS, 5);
  engine.writeTensor("values", values.data(), values.data() + values.size());
  engine.writeTensor("dense", operand.data(), operand.data() + operand.size());
  engine.run(0);
  std::vector<float> product(SIDE * COLUMNS);
  engine.readTensor("out", product.data(), product.data() + product.size());
  const std::uint64_t cycles = cyclesOfLastRun(engine);
  std::printf("sum of the product %.4f, %llu cycles, %.1f flop a cycle\n",
              std::accumulate(product.begin(), product.end(), 0.0), (unsigned long long)cycles,
              2.0 * csr.nzValues.size() * COLUMNS / cycles);
}
