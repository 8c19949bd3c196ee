// The largest element, the mean or the sum of windows of activations [batch, channels, field...].
#ifndef popnn_Pooling_hpp
#define popnn_Pooling_hpp

#include <cstdint>
#include <iosfwd>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <popnn/PoolingDef.hpp>

#define POPNN_REST                                                                                                     \
  poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {},                                      \
      const poplar::OptionFlags &options = {}

namespace popnn {
namespace pooling {

/// The windows: each list has an entry for each dimension of the field; negative padding cuts the input.
struct PoolParams {
  PoolParams(PoolingType poolingType, std::vector<std::size_t> inputFieldShape, std::vector<std::size_t> kernelShape,
             std::vector<unsigned> stride, std::vector<int> inputTruncationOrPaddingLower,
             std::vector<int> inputTruncationOrPaddingUpper, std::size_t numChannels, std::size_t batchSize,
             poplar::Type dType)
      : poolingType(poolingType), inputFieldShape(std::move(inputFieldShape)), kernelShape(std::move(kernelShape)),
        stride(std::move(stride)), inputTruncationOrPaddingLower(std::move(inputTruncationOrPaddingLower)),
        inputTruncationOrPaddingUpper(std::move(inputTruncationOrPaddingUpper)), numChannels(numChannels),
        batchSize(batchSize), dType(dType) {}

  PoolingType poolingType;
  std::vector<std::size_t> inputFieldShape;
  std::vector<std::size_t> kernelShape;
  std::vector<unsigned> stride;
  std::vector<int> inputTruncationOrPaddingLower;
  std::vector<int> inputTruncationOrPaddingUpper;
  std::size_t numChannels;
  std::size_t batchSize;
  poplar::Type dType;

  std::size_t getNumFieldDims() const;
  std::vector<std::size_t> getOutputFieldShape() const;
};
std::ostream &operator<<(std::ostream &out, const PoolParams &params);

/// "max", "avg" or "sum".
const char *asString(const PoolingType &method);
std::vector<std::size_t> getOutputFieldShape(const PoolParams &params);
/// Floating-point operations of the passes, and the cycles of a target that does nothing else.
std::uint64_t getFwdFlops(const PoolParams &params);
std::uint64_t getBwdFlops(const PoolParams &params);
double getFwdPerfectCycleCount(const poplar::Graph &graph, const PoolParams &params);
double getBwdPerfectCycleCount(const poplar::Graph &graph, const PoolParams &params);

poplar::Tensor pool(poplar::Graph &graph, const PoolParams &params, const poplar::Tensor &in, POPNN_REST);
/// The gradient of the input. A scaled gradient of MAX is shared by the elements that equal the largest one.
poplar::Tensor poolInputGradient(poplar::Graph &graph, const PoolParams &params, const poplar::Tensor &in,
                                 const poplar::Tensor &pooled, const poplar::Tensor &pooledGradient,
                                 bool useScaledGradient, POPNN_REST);
/// The gradient of the input of AVG and SUM, in groups of `fwdChansPerGroup` channels where that is possible.
poplar::Tensor poolInputGradient(poplar::Graph &graph, const PoolParams &params, const unsigned fwdChansPerGroup,
                                 const poplar::Tensor &pooledGradient, POPNN_REST);

} // namespace pooling
} // namespace popnn

#undef POPNN_REST

#endif
