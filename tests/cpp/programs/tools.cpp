// poputil, loops, reductions, scaled additions, casts, and random numbers.
#include "results.hpp"

#include <stdexcept>

#include <poplin/codelets.hpp>
#include <popnn/codelets.hpp>
#include <popops/AllTrue.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Fill.hpp>
#include <popops/Loop.hpp>
#include <popops/NaN.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>
#include <popops/codelets.hpp>
#include <poprand/RandomGen.hpp>
#include <poprand/codelets.hpp>
#include <poputil/Broadcast.hpp>
#include <poputil/GraphFunction.hpp>
#include <poputil/Util.hpp>
#include <poputil/VarStructure.hpp>
#include <poputil/VertexTemplates.hpp>
#include <poputil/exceptions.hpp>

#undef NDEBUG
#include <cassert>

using namespace poplar;
using namespace poplar::program;

namespace {

void tensors(Results &results) {
  Graph &graph = results.graph;
  Tensor a = results.operand({3, 1}), b = results.operand({2}, 1), c = results.operand({1}, 2), broadcast = a;
  poputil::broadcastToMatch(a, b, c);
  results.read("broadcastToMatch", concat({a, b, c}));
  Tensor left = results.operand({1, 2}), right = results.operand({3, 1});
  poputil::broadcastToMatch(left, right);
  results.read("broadcastToMatch of two", concat(left, right));
  poputil::broadcastToMatch(broadcast, {2, 3, 2});
  results.read("broadcastToMatch of a shape", broadcast);
  try {
    poputil::broadcastToMatch(broadcast, {5});
    assert(false);
  } catch (const poputil::poplibs_error &error) {
    assert(std::string(error.what()).find("do not match") != std::string::npos);
  }
  Tensor vector = results.operand({4});
  results.number("extendDimensionsToMatch",
                 static_cast<double>(poputil::extendDimensionsToMatch(results.operand({2, 4}), vector).rank()));
  results.number("detectVectorBroadcastOperands",
                 poputil::detectVectorBroadcastOperands(results.operand({2, 4}), vector) ? 1 : 0);
  results.read("duplicate", poputil::duplicate(graph, vector, results.prog));
  results.read("cloneN", results.filled(poputil::cloneN(graph, vector, 2), results.operand({2, 4})));
  results.number("checkAccuracyWhenCast",
                 poputil::checkAccuracyWhenCast(graph.getTarget(), 0.1, FLOAT, HALF, 1e-6) ? 1 : 0);
  const std::vector<Interval> regions = {{0, 4}, {4, 10}, {12, 20}};
  results.number("mergeAdjacentRegions", static_cast<double>(poputil::mergeAdjacentRegions(regions).size()));
  results.number("splitRegions", static_cast<double>(poputil::splitRegions(regions, 2, 3)[1][0].begin()));
  results.number("splitRegionsBetweenWorkers", static_cast<double>(
                     poputil::splitRegionsBetweenWorkers(graph.getTarget(), regions, 2).size()));
  results.number("intervalSequenceNumElements",
                 static_cast<double>(poputil::intervalSequenceNumElements({regions, regions})));
  results.number("flattenIndex", static_cast<double>(poputil::flattenIndex({2, 3}, {1, 2})));
  results.number("unflattenIndex", static_cast<double>(poputil::unflattenIndex({2, 3}, 4)[1]));
  results.number("balancedPartition", poputil::balancedPartition(10, 3)[0]);
  assert(poputil::templateVertex("Sum", FLOAT, 2) == "Sum" + poputil::templateVertexParams(true, FLOAT, 2));
  assert(poputil::templateVertexParams(false) == ">");
}

void mappings(Results &results) {
  Graph &graph = results.graph;
  Tensor t = results.operand({8, 2});
  poputil::mapTensorLinearly(graph, t, 4, 2);
  results.number("calcLinearTileMapping",
                 static_cast<double>(poputil::calcLinearTileMapping(graph, {8, 2}, 4, 2)[1][0].begin()));
  results.number("calcLinearTileMapping of a tensor",
                 static_cast<double>(poputil::calcLinearTileMapping(graph, t)[0][0].size()));
  results.number("getTileImbalance", poputil::getTileImbalance(graph, t));
  results.number("getTileImbalance of a mapping", poputil::getTileImbalance(graph.getTileMapping(t)));
  results.number("dimIsSplitOverTiles", poputil::dimIsSplitOverTiles(graph, t, 0) ? 1 : 0);
  results.number("dimIsSplitOverIPUs", poputil::dimIsSplitOverIPUs(graph, t, 0) ? 1 : 0);
  Tensor operand = poputil::createBroadcastOperand(graph, t, FLOAT, 1);
  results.number("createBroadcastOperand", static_cast<double>(operand.numElements()));
  poputil::mapTensorLinearlyWithOffset(graph, t, 4, 2, 14u);
  results.number("mapTensorLinearlyWithOffset", static_cast<double>(graph.getTileMapping(t)[1].size()));
  poputil::mapTensorLinearlyWithOffset(graph, t, 3u, false);
  results.number("mapTensorLinearlyWithOffset down", static_cast<double>(graph.getTileMapping(t)[12].size()));
  results.number("detectInnermostGrouping", poputil::detectInnermostGrouping(graph, t));
  results.number("detectDimGroupings", poputil::detectDimGroupings(graph, t)[1].second);
  Tensor parts = poputil::createPartitionableTensor(graph, FLOAT, {5, 6}, {2, 3});
  std::size_t runs = 0;
  poputil::iterateTensorPartitions(parts, {2, 3}, [&](const std::vector<std::size_t> &i, const Tensor &s) {
    assert(s.dim(0) == 3 - i[0]);
    runs += s.isContiguous();
  });
  results.number("createPartitionableTensor", static_cast<double>(runs));
  poputil::TensorUseTracker tracker(16), other(16);
  assert(tracker.empty());
  Tensor used = graph.addVariable(FLOAT, {8}, "used");
  other.add(graph, 3, used.slice(0, 4));
  tracker.add(graph, 5, used.slice(4, 8));
  tracker.add(other);
  using Method = poputil::TensorUseTracker::MappingMethod;
  tracker.resolve(graph, 1, 1, false, Method::OptimizeHaloRegions);
  tracker.mapTensorsByUse(graph, 1, 1);
  results.number("mapTensorsByUse", static_cast<double>(graph.getTileMapping(used)[3].size()));
}

void functions(Results &results) {
  namespace graphfn = poputil::graphfn;
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor t = results.operand({4});
  graphfn::VoidFunction twice(graph, {graphfn::input(t, "in"), graphfn::inout(t), graphfn::output(t), graphfn::created("new")},
                              [&](std::vector<Tensor> &args, Sequence &seq) {
                                popops::addInPlace(graph, args[1], args[0], seq);
                                seq.add(Copy(args[1], args[2]));
                                args[3] = popops::add(graph, args[0], 1.0f, seq);
                              },
                              false);
  std::vector<Tensor> args = {t, results.variable(t), results.variable(t), Tensor()};
  twice(args, prog);
  twice(args, prog);
  results.read("VoidFunction", concat({args[1], args[2], args[3]}));
  graphfn::TensorFunction square(graph, {graphfn::input(t)}, [&](std::vector<Tensor> &tensors, Sequence &seq) {
    return popops::square(graph, tensors[0], seq);
  });
  std::vector<Tensor> squared = {args[3]};
  results.read("TensorFunction", square(squared, prog));
  graphfn::ProgramFunction negate(graph, {graphfn::inout(t)}, [&](std::vector<Tensor> &tensors) -> Program {
    Sequence seq;
    popops::negInPlace(graph, tensors[0], seq);
    return Program(std::move(seq));
  });
  std::vector<Tensor> changed = {results.variable(t)};
  prog.add(negate(changed));
  results.read("ProgramFunction", changed[0]);
}

/// What goes wrong in a function of the program arrives where the program called; what it has to make is asked for.
void faults(Results &results) {
  namespace graphfn = poputil::graphfn;
  Tensor t = results.operand({4});
  try {
    graphfn::VoidFunction(results.graph, {graphfn::input(t)},
                          [](std::vector<Tensor> &, Sequence &) { throw std::out_of_range("not here"); });
    assert(false);
  } catch (const std::out_of_range &error) {
    assert(std::string(error.what()) == "not here");
  }
  try {
    graphfn::VoidFunction(results.graph, {graphfn::created("new")}, [](std::vector<Tensor> &, Sequence &) {});
    assert(false);
  } catch (const poputil::poplibs_error &error) {
    assert(std::string(error.what()) == "The function did not create its argument 0 ('new').");
  }
  try {
    popops::countedLoop(results.graph, 2, [](const Tensor &) -> Program { throw 7; });
    assert(false);
  } catch (int number) {
    assert(number == 7);
  }
}

void loops(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor sum = graph.addVariable(FLOAT, {1}, VariableMappingMethod::LINEAR);
  popops::zero(graph, sum, prog);
  prog.add(popops::countedLoop(graph, 2, 8, 3, [&](const Tensor &i) {
    Sequence body;
    popops::addInPlace(graph, sum, popops::cast(graph, i.flatten(), FLOAT, body), body);
    return body;
  }));
  Sequence body;
  popops::addInPlace(graph, sum, 10.0f, body);
  Tensor limit = results.indices({1}, {4}), count = graph.addVariable(UNSIGNED_INT, {1}, VariableMappingMethod::LINEAR);
  prog.add(popops::countedForLoop(graph, 1, limit, 1, body));
  prog.add(popops::countedForLoop(graph, count, 0, limit, 2, body, "loop"));
  results.read("loops", sum);
  popops::fill(graph, count, prog, 3u);
  results.read("addForLoopCounterVertex", popops::addForLoopCounterVertex(graph, count, limit, 1, 0, prog));
}

void reductions(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor t = results.operand({4, 3}), scale = results.scalar(2);
  results.read("reduce scaled", popops::reduce(graph, t, {0}, {popops::Operation::ADD, false, scale}, prog));
  Tensor updated = results.variable(results.operand({3}, 1));
  popops::reduceWithOutput(graph, t, updated, {0}, {popops::Operation::ADD, true}, prog);
  std::vector<ComputeSet> sets;
  Tensor largest = popops::reduce(graph, t, FLOAT, {1}, popops::Operation::MAX, sets, "sets");
  Tensor least = popops::reduce(graph, t, {1}, popops::Operation::MIN, sets);
  Tensor squares = graph.addVariable(FLOAT, {3}, VariableMappingMethod::LINEAR);
  popops::reduceWithOutput(graph, t, squares, {0}, popops::Operation::SQUARE_ADD, sets);
  for (const ComputeSet &set : sets)
    prog.add(Execute(set));
  results.read("reductions in sets", concat({largest, least, squares, updated}));
  std::vector<Tensor> outputs;
  popops::reduceMany(graph, {{t, {0}, popops::Operation::ADD, "sum"}, {t, {1}, popops::Operation::MUL, HALF}}, outputs, prog);
  results.number("types of reduceMany", (outputs[0].elementType() == FLOAT) + 10 * (outputs[1].elementType() == HALF));
  results.read("reduceMany", outputs[0]);
  results.read("allTrue", popops::allTrue(graph, popops::gt(graph, t, -2.0f, prog), prog));
  results.read("hasNaN", popops::hasNaN(graph, t, prog));
  results.read("hasNaNOrInf", popops::hasNaNOrInf(graph, t, prog));
}

void sums(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor t = results.variable(results.operand({4})), other = results.operand({4}, 1);
  Tensor two = results.scalar(2), half = results.scalar(0.5f);
  popops::scaledAddTo(graph, t, other, 0.5f, prog);
  popops::scaledAddTo(graph, t, half, other, two, prog);
  popops::scaledAddTo(graph, t, 0.5f, other, 2.0f, prog, "sum", {{"optimizeForSpeed", "true"}});
  popops::scaledAddTo(graph, t, half, other, two, prog, popops::ScaledAddSpecialisation::X_MINUS_AX_PLUS_BY);
  results.read("scaledAddTo", t);
  popops::scaledAddTo(graph, t, other, half, prog);
  popops::scaledAddTo(graph, t, 0.5f, other, 2.0f, prog, popops::ScaledAddSpecialisation::X_MINUS_AX_PLUS_BY, "sum");
  results.read("scaledAddTo again", t);
  popops::scaledSubtractFrom(graph, t, other, 0.5f, prog);
  popops::scaledSubtractFrom(graph, t, other, half, prog);
  popops::scaledSubtractFrom(graph, t, 0.5f, other, 2.0f, prog);
  popops::scaledSubtractFrom(graph, t, half, other, two, prog);
  results.read("scaledSubtractFrom", t);
  Tensor halves = graph.addVariable(HALF, {4}, VariableMappingMethod::LINEAR);
  popops::castWithOutput(graph, t, halves, prog);
  results.read("castWithOutput", halves);
  ComputeSet casts = graph.addComputeSet("casts");
  Tensor integers = popops::cast(graph, t, INT, casts, "integers"), back = graph.clone(t), again = graph.clone(t);
  popops::cast(graph, halves, back, casts);
  prog.add(Execute(casts));
  prog.add(popops::cast(graph, halves, again, "again"));
  results.read("casts", concat({popops::cast(graph, integers, FLOAT, prog), back, again}));
  results.read("checkAccuracyWhenCast of a tensor", popops::checkAccuracyWhenCast(graph, t[0], HALF, 1e-6, prog));
}

void random(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  Tensor seed = results.indices({2}, {7, 9}), like = results.operand({6});
  poprand::setSeed(graph, seed, 1, prog);
  Tensor state = poprand::getHwSeeds(graph, prog);
  poprand::setHwSeeds(graph, state, prog);
  results.read("uniform", poprand::uniform(graph, &seed, 1, like, FLOAT, -1, 1, prog));
  results.read("normal", poprand::normal(graph, &seed, 2, like, FLOAT, 1, 2, prog));
  results.read("truncatedNormal", poprand::truncatedNormal(graph, &seed, 3, like, FLOAT, 0, 1, 2, prog));
  results.read("logUniform", poprand::logUniform(graph, &seed, 4, like, FLOAT, 1, 10, prog));
  results.read("bernoulli", poprand::bernoulli(graph, &seed, 5, like, FLOAT, 0.5, prog));
  results.read("dropout", poprand::dropout(graph, &seed, 6, like, like, 0.5, 2, prog));
  results.read("shapedDropout", poprand::shapedDropout(graph, &seed, 7, like, like, 0.5, 2, prog));
}

} // namespace

int main() {
  Device device = small_device();
  Graph graph(device);
  popops::addCodelets(graph);
  poplin::addCodelets(graph);
  popnn::addCodelets(graph);
  poprand::addCodelets(graph);
  Results results(graph);
  tensors(results);
  mappings(results);
  functions(results);
  faults(results);
  loops(results);
  reductions(results);
  sums(results);
  random(results);
  results.print(device);
}
