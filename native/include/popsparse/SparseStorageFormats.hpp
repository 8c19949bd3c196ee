// Sparse matrices of the program: coordinates, compressed rows, compressed columns, each of blocks.
#ifndef popsparse_SparseStorageFormats_hpp
#define popsparse_SparseStorageFormats_hpp

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace popsparse {

/// Rows and columns of a block; {1, 1} for single elements.
class Block {
public:
  std::size_t getNumRowsInBlock() const { return blockDimensions[0]; }
  std::size_t getNumColumnsInBlock() const { return blockDimensions[1]; }
  std::size_t getBlockSize() const { return blockDimensions[0] * blockDimensions[1]; }
  std::array<std::size_t, 2> getBlockDimensions() const { return blockDimensions; }

protected:
  explicit Block(const std::array<std::size_t, 2> &blockDimensions) : blockDimensions(blockDimensions) {}

private:
  std::array<std::size_t, 2> blockDimensions;
};

// The formats differ in what their indices say; all count elements, not blocks.
#define POPSPARSE_FORMAT(NAME)                                                                                         \
  template <typename T> struct NAME : public Block {                                                                   \
    std::size_t numRows = 0, numColumns = 0;                                                                           \
    std::vector<T> nzValues;                                                                                           \
    std::vector<std::size_t> columnIndices, rowIndices;                                                                \
                                                                                                                       \
    NAME(std::size_t numRows, std::size_t numColumns, std::vector<T> nzValues,                                         \
         std::vector<std::size_t> columnIndices, std::vector<std::size_t> rowIndices,                                  \
         const std::array<std::size_t, 2> &blockDimensions = {{1, 1}})                                                 \
        : Block(blockDimensions), numRows(numRows), numColumns(numColumns), nzValues(std::move(nzValues)),             \
          columnIndices(std::move(columnIndices)), rowIndices(std::move(rowIndices)) {}                                \
    explicit NAME(const std::array<std::size_t, 2> &blockDimensions = {{1, 1}}) : Block(blockDimensions) {}            \
  }

/// The column and the row of each block.
POPSPARSE_FORMAT(COOMatrix);
/// The column of each block, and where the blocks of each row begin in the values.
POPSPARSE_FORMAT(CSRMatrix);
/// The row of each block, and where the blocks of each column begin in the values.
POPSPARSE_FORMAT(CSCMatrix);

#undef POPSPARSE_FORMAT

} // namespace popsparse

#endif
