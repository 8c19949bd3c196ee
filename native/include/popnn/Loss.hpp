#ifndef popnn_Loss_hpp
#define popnn_Loss_hpp

#include <utility>

#include <poplar/Graph.hpp>
#include <popops/EncodingConstants.hpp>

#define POPNN_LOSS                                                                                                     \
  poplar::Graph &graph, const poplar::Tensor &modelOutputs, const poplar::Tensor &expected,                            \
      const poplar::Tensor &loss, const poplar::Tensor &deltas

namespace popnn {

enum LossType { SUM_SQUARED_LOSS, CROSS_ENTROPY_LOSS };

/// The loss of each row and the gradient of the model's outputs; scaled, where scales are given: the gradient by
/// `deltasScale`, the outputs by 1 / `modelOutputScaling`. Adds the number of rows that are right to `numCorrect`.
poplar::program::Program calcLoss(POPNN_LOSS, LossType lossType, const poplar::DebugContext &debugContext = {});
poplar::program::Program calcLoss(POPNN_LOSS, const poplar::Tensor &numCorrect, LossType lossType,
                                  const poplar::DebugContext &debugContext = {});
poplar::program::Program calcLoss(POPNN_LOSS, const poplar::Tensor &deltasScale,
                                  const poplar::Tensor &modelOutputScaling, LossType lossType,
                                  const poplar::DebugContext &debugContext = {});
poplar::program::Program calcLoss(POPNN_LOSS, const poplar::Tensor &deltasScale,
                                  const poplar::Tensor &modelOutputScaling, const poplar::Tensor &numCorrect,
                                  LossType lossType, const poplar::DebugContext &debugContext = {});
poplar::program::Program calcAccuracy(poplar::Graph &graph, const poplar::Tensor &modelOutputs,
                                      const poplar::Tensor &expected, const poplar::Tensor &numCorrect,
                                      const poplar::DebugContext &debugContext = {});
poplar::Tensor argMax(poplar::Graph &graph, const poplar::Tensor &input, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {});
poplar::Tensor argMin(poplar::Graph &graph, const poplar::Tensor &input, poplar::program::Sequence &prog,
                      const poplar::DebugContext &debugContext = {});
std::pair<poplar::Tensor, poplar::Tensor> maxAndArgMax(poplar::Graph &graph, const poplar::Tensor &input,
                                                       poplar::program::Sequence &prog,
                                                       const poplar::DebugContext &debugContext = {});
std::pair<poplar::Tensor, poplar::Tensor> minAndArgMin(poplar::Graph &graph, const poplar::Tensor &input,
                                                       poplar::program::Sequence &prog,
                                                       const poplar::DebugContext &debugContext = {});
/// The K largest elements of each row of a matrix, [rows, 1, K], and their indices; sorted, the largest comes first.
poplar::Tensor topK(poplar::Graph &graph, const poplar::Tensor &input, poplar::Tensor &indices /*out*/, unsigned K,
                    bool sort, poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {});

} // namespace popnn

#undef POPNN_LOSS

#endif
