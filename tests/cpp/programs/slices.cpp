// popops' slices: dynamic ones, lookups in an embedding, gathers and scatters, the top k, padding, rows.
#include "results.hpp"

#include <popops/CircBuf.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Encoding.hpp>
#include <popops/Gather.hpp>
#include <popops/NormaliseImage.hpp>
#include <popops/Pad.hpp>
#include <popops/Scatter.hpp>
#include <popops/SelectScalarFromRows.hpp>
#include <popops/Rearrange.hpp>
#include <popops/SequenceSlice.hpp>
#include <popops/Sort.hpp>
#include <popops/TopK.hpp>
#include <popops/UpdateScalarInRows.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

void slices(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor t = results.filled(popops::createSliceableTensor(graph, FLOAT, {6, 3}, {0}, {2}), results.operand({6, 3}));
  Tensor offset = results.indices({1}, {3});
  results.read("dynamicSlice", popops::dynamicSlice(graph, t, offset, {0}, {2}, prog, "slice"));
  Tensor slice = popops::createSliceTensor(graph, t, {0}, {2}, 1)[0];
  popops::dynamicSliceWithOutput(graph, slice, t, offset, {0}, {2}, prog);
  results.read("dynamicSliceWithOutput", slice);
  popops::dynamicUpdate(graph, t, results.operand({2, 3}, 1), offset, {0}, {2}, prog);
  results.read("dynamicUpdate", t);
  results.number("getSliceMapping", static_cast<double>(popops::getSliceMapping(graph, t, {0}, {2}).size()));
  results.read("createSliceableTensorFromSlice",
               results.filled(popops::createSliceableTensorFromSlice(graph, slice, {0}, {3}), results.operand({6, 3})));
}

void buffers(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  popops::CircBuf buffer(graph, FLOAT, 3, {2, 3}, "buffer");
  for (unsigned i = 0; i < 4; ++i)
    buffer.add(results.operand({2, 3}, i), prog, "add");
  results.read("CircBuf", concat(buffer.prev(0, prog), buffer.prev(buffer.size() - 1, prog, "oldest")));
  results.read("getIndex", buffer.getIndex());
  Tensor rows = results.variable(results.operand({5, 3}));
  popops::sequenceSlice(graph, results.operand({4, 3}, 1), rows, results.indices({2}, {2, 1}),
                        results.indices({2}, {0, 3}), results.indices({2}, {3, 0}), true, prog, "sequences");
  results.read("sequenceSlice", rows);
  Tensor image = popops::createNormaliseImageInput(graph, FLOAT, {2, 2, 3});
  results.filled(image, results.operand({2, 2, 3}));
  Tensor offsets = results.operand({3}), scales = results.operand({3}, 1);
  results.read("normaliseImage", popops::normaliseImage(graph, prog, image, 0.5f, offsets, scales, "image"));
  Tensor columns = results.variable(results.operand({16, 8})).transpose();
  results.read("regroupIfBeneficial", popops::rearrange::regroupIfBeneficial(graph, columns, 8, prog, "groups"));
  results.read("regroup as", popops::rearrange::regroupIfBeneficial(
                                 graph, columns, results.variable(results.operand({8, 16})), prog));
  results.read("grains", results.indices({1}, {popops::rearrange::getMinimumRegroupGrainSize(FLOAT)}));
}

void embeddings(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  const OptionFlags options = {{"usedForUpdate", "true"}, {"availableMemoryProportion", "0.5"}};
  const popops::SlicePlan plan = popops::embedding::plan(graph, FLOAT, 10, 4, {3}, options);
  results.number("plans", plan == popops::embedding::plan(graph, FLOAT, 10, 4, {3}, options) ? 1 : 0);
  results.number("no plan", plan != popops::SlicePlan() ? 1 : 0);
  Tensor matrix = results.filled(popops::createSliceableTensor(graph, FLOAT, {10, 4}, {0}, {1}, plan, options),
                                 results.operand({10, 4}));
  Tensor offsets = results.filled(popops::createIndicesTensor(graph, {0}, 3, plan, options),
                                  results.indices({3, 1}, {7, 0, 7}));
  results.read("multiSlice", popops::multiSlice(graph, matrix, offsets, {0}, {1}, prog, plan, options, "lookup"));
  Tensor updates = results.filled(popops::createSliceTensor(graph, FLOAT, {10, 4}, {0}, {1}, 3, plan, options),
                                  results.operand({3, 1, 4}, 2));
  popops::multiUpdateAdd(graph, matrix, updates, offsets, results.scalar(0.5f), {0}, {1}, prog, plan, options);
  results.read("multiUpdateAdd", matrix);
  Tensor largest = results.variable(results.operand({10, 4}));
  popops::multiUpdateMax(graph, largest, updates, offsets, {0}, {1}, prog, popops::SlicePlan(), {});
  results.read("multiUpdateMax", largest);
  Tensor others = results.variable(results.operand({10, 4}));
  popops::multiUpdate(graph, others, updates, results.indices({3, 1}, {1, 5, 2}), {0}, {1}, prog, popops::SlicePlan(),
                      {});
  results.read("multiUpdate", others);
}

void gathers(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor table = results.filled(popops::createGatherInput(graph, FLOAT, {5, 3}, 0, popops::GatherParams(100)),
                                results.operand({5, 3}));
  results.read("gather along", popops::gather(graph, table, results.indices({2, 2}, {4, 0, 1, 1}), 0, prog, {}));
  Tensor other = results.filled(popops::createGatherInput(graph, FLOAT, {3, 3}, {1, 1}, {0, 1}), results.operand({3, 3}));
  Tensor places = results.indices({2, 2}, {1, 1, 2, 1});
  results.read("gather", popops::gather(graph, other, places, 1, {}, {1, 1}, {0, 1}, {0, 1}, prog, "elements"));
  Tensor operand = results.variable(results.operand({4, 2}));
  popops::scatter(graph, operand, results.indices({2}, {3, 1}), results.operand({2, 2}, 3), 1, {1}, {0}, {0}, prog);
  results.read("scatter", operand);
  popops::UpdateComputationFunc add = [](Graph &g, Tensor &before, Tensor &update, Sequence &seq) {
    return popops::add(g, before, update, seq);
  };
  popops::scatter(graph, operand, results.indices({2}, {0, 1}), results.operand({2, 2}, 3), 1, {1}, {0}, {0}, add, prog);
  results.read("scatter with a function", operand);
}

void orders(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  const popops::TopKParams params(3, true, popops::SortOrder::DESCENDING);
  Tensor t = results.filled(popops::createTopKInput(graph, FLOAT, {2, 8}, params), results.operand({2, 8}));
  results.read("topK", popops::topK(graph, prog, t, params));
  const auto pair = popops::topKKeyValue(graph, prog, t, results.operand({2, 8}, 5),
                                         {2, false, popops::SortOrder::ASCENDING});
  results.read("topKKeyValue keys", pair.first);
  results.read("topKKeyValue values", pair.second);
  results.read("topKWithPermutation", popops::topKWithPermutation(graph, prog, t, params).second);
  results.read("sort", popops::sort(graph, t, 1, prog));
  Tensor in_place = results.variable(t);
  popops::sortInPlace(graph, in_place, 1, prog);
  results.read("sortInPlace", in_place);
  results.read("sortKeyValue", popops::sortKeyValue(graph, t, results.operand({2, 8}, 4), 0, prog));
  Tensor keys = results.variable(t), values = results.variable(results.operand({2, 8}, 4));
  popops::sortKeyValueInPlace(graph, keys, values, 1, prog);
  results.read("sortKeyValueInPlace", concat(keys, values));
}

void rows(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor t = results.operand({2, 3});
  results.read("pad", popops::pad(graph, t, {1, 0}, {0, 2}, 1.5f));
  results.read("pad with a tensor", popops::pad(graph, t, {0, -1}, {1, 0}, results.scalar(2).reshape({1})));
  results.read("pad a dimension", popops::pad(graph, t, 1, 1, 0, 7, popops::padding::MappingMethod::EDGE));
  results.read("pad with an integer", popops::pad(graph, t, {1, 0}, {0, 1}, 3));
  results.read("pad a dimension with zeros", popops::pad(graph, t, 0, 2, 1));
  results.read("pad a dimension with a tensor", popops::pad(graph, t, 1, -1, 1, results.scalar(4).reshape({1})));
  results.read("pad of its own", popops::pad(t, {1, 1}, {0, 1}, popops::padding::Type::REFLECT));
  results.read("pad a dimension of its own", popops::pad(t, 1, 2, 1, popops::padding::Type::EDGE));
  Tensor labels = results.indices({2}, {2, MASKED_LABEL_CODE});
  results.read("selectScalarFromRows", popops::selectScalarFromRows(graph, t, labels, prog));
  Tensor updated = results.variable(t);
  popops::updateScalarInRows(graph, updated, labels, prog);
  results.read("updateScalarInRows", updated);
  Tensor encoded = graph.clone(t);
  popops::encodeOneHot(graph, labels, encoded, prog);
  results.read("encodeOneHot", encoded);
  Tensor switched = graph.clone(t);
  popops::encodeOneHot(graph, labels, switched, prog, results.scalar(0.5f), results.scalar(-1));
  results.read("encodeOneHot with values", switched);
  Tensor counted = graph.addVariable(INT, {5}, VariableMappingMethod::LINEAR);
  popops::iota(graph, counted, 2u, prog);
  popops::iota(graph, counted, -2, prog);
  results.read("iota", counted);
}

} // namespace

int main() {
  Device device = small_device();
  Graph graph(device);
  Results results(graph);
  slices(results);
  buffers(results);
  embeddings(results);
  gathers(results);
  orders(results);
  rows(results);
  results.print(device);
}
