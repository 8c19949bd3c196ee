// popnn's recurrent layers, forward and backward.
#include "results.hpp"

#include <popnn/Gru.hpp>
#include <popnn/Lstm.hpp>
#include <popnn/Recurrent.hpp>

using namespace poplar;
using namespace poplar::program;

namespace {

const std::size_t STEPS = 3, BATCH = 2, IN = 3, OUT = 2;
const OptionFlags OPTIONS = {{"partialsType", "float"}};

/// Give the weights of a layer with `units` products their values.
template <class Weights>
void fill(Results &results, const Weights &weights, std::size_t units, const std::vector<std::size_t> &biases) {
  results.filled(weights.inputWeights, results.operand({units, IN, OUT}, 1));
  results.filled(weights.outputWeights, results.operand({units, OUT, OUT}, 2));
  results.filled(weights.biases, results.operand(biases, 3));
}

/// The elements of weights and biases as one number.
double elements(const std::pair<Tensor, Tensor> &kernel, const Tensor &biases) {
  return static_cast<double>(kernel.first.numElements() + kernel.second.numElements() * 100 +
                             biases.numElements() * 10000);
}

void lstm(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  poplin::PlanningCache cache;
  popnn::lstm::LstmParams params(FLOAT, BATCH, STEPS, {IN, OUT});
  params.cellOrder = {BASIC_LSTM_CELL_INPUT_GATE, BASIC_LSTM_CELL_FORGET_GATE, BASIC_LSTM_CELL_CANDIDATE,
                      BASIC_LSTM_CELL_OUTPUT_GATE};
  results.number("cell order", static_cast<double>(popnn::lstm::getDefaultBasicLstmCellOrder()[3]));
  Tensor in = results.filled(popnn::lstm::createInput(graph, params, "in", OPTIONS, &cache),
                             results.operand({STEPS, BATCH, IN}));
  popnn::lstm::LstmWeights weights = popnn::lstm::createWeights(graph, params, "weights", OPTIONS, &cache);
  fill(results, weights, 4, {4, OUT});
  popnn::lstm::LstmState state = popnn::lstm::createInitialState(graph, params, "state", OPTIONS, &cache);
  popnn::lstm::zeroInitialState(graph, state, prog);
  results.read("lstm state", state.getAsTensor());
  Tensor kept, input_grad, units, second_grad;
  const auto out = popnn::lstm::lstmFwd(graph, params, state, in, weights, &kept, prog, "forward", OPTIONS, &cache);
  results.read("lstmFwd", out.first);
  results.read("lstmFwd cell state", out.second);
  const OptionFlags inference = {{"inferenceOnly", "true"}};
  results.read("lstmFwd for inference", popnn::lstm::lstmFwd(graph, params, prog, state, weights, in, nullptr, "inference",
                                                             inference));
  const unsigned before = graph.getNumVertices();
  popnn::lstm::lstmFwd(graph, params, state, in, weights, nullptr, prog, "nothing kept", OPTIONS, &cache);
  results.number("vertices of lstmFwd that keeps nothing", graph.getNumVertices() - before);
  Tensor slopes = results.operand({STEPS, BATCH, OUT}, 4), last = results.operand({BATCH, OUT}, 5);
  const popnn::lstm::LstmState back = popnn::lstm::lstmBwd(graph, params, prog, state, kept, weights, in, out.first,
                                                           slopes, &last, &input_grad, &units, "backward", OPTIONS);
  results.read("lstmBwd", concat({back.output, back.cellState, input_grad.flatten(0, 2).slice(0, 2, 1)}));
  const popnn::lstm::LstmWeights deltas =
      popnn::lstm::lstmWU(graph, params, prog, state, kept, units, weights, in, out.first, "update", OPTIONS);
  results.read("lstmWU", concat({deltas.inputWeights.flatten(), deltas.outputWeights.flatten(), deltas.biases.flatten()}));
  const unsigned before_state = graph.getNumVertices();
  const popnn::lstm::LstmState state_grad = popnn::lstm::lstmBwd(graph, params, prog, state, kept, weights, in, out.first,
                                                                 slopes, &last, nullptr, nullptr, "state", OPTIONS);
  results.read("lstmBwd of the state alone", state_grad.getAsTensor());
  results.number("vertices of lstmBwd of the state alone", graph.getNumVertices() - before_state);
  popnn::lstm::LstmWeights both;
  popnn::lstm::lstmBwdWithWU(graph, params, prog, state, kept, weights, in, out.first, slopes, nullptr, &second_grad, both);
  results.read("lstmBwdWithWU", concat({second_grad.flatten(), both.inputWeights.flatten(), both.biases.flatten()}));
  const auto kernel = popnn::lstm::createWeightsKernel(graph, params, "kernel");
  results.number("lstm operands", elements(kernel, popnn::lstm::createWeightsBiases(graph, params, "biases")));
}

void gru(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  popnn::gru::GruParams params(FLOAT, BATCH, STEPS, {IN, OUT});
  params.outputFullSequence = false;
  params.resetAfter = true;
  results.number("gru order", static_cast<double>(popnn::gru::getDefaultBasicGruCellOrder()[1]));
  Tensor in = results.filled(popnn::gru::createInput(graph, params, "in"), results.operand({STEPS, BATCH, IN}));
  popnn::gru::GruWeights weights = popnn::gru::createWeights(graph, params, "weights");
  fill(results, weights, 3, {3, 2, OUT});
  Tensor state = results.filled(popnn::gru::createInitialState(graph, params, "state"), results.operand({BATCH, OUT}, 6));
  Tensor kept, input_grad, units, second_grad;
  Tensor out = popnn::gru::gruFwd(graph, params, state, in, weights, &kept, prog, "forward");
  results.read("gruFwd", out);
  const unsigned before = graph.getNumVertices();
  popnn::gru::gruFwd(graph, params, state, in, weights, nullptr, prog, "nothing kept");
  results.number("vertices of gruFwd that keeps nothing", graph.getNumVertices() - before);
  Tensor slopes = results.operand({BATCH, OUT}, 4);
  Tensor back = popnn::gru::gruBwd(graph, params, prog, state, kept, weights, in, out, slopes, &input_grad, &units);
  results.read("gruBwd", concat(back.flatten(), input_grad.flatten()));
  const popnn::gru::GruWeights deltas = popnn::gru::gruWU(graph, params, prog, state, kept, units, weights, in, out);
  results.read("gruWU", concat({deltas.inputWeights.flatten(), deltas.outputWeights.flatten(), deltas.biases.flatten()}));
  const unsigned before_state = graph.getNumVertices();
  results.read("gruBwd of the state alone",
               popnn::gru::gruBwd(graph, params, prog, state, kept, weights, in, out, slopes, nullptr, nullptr));
  results.number("vertices of gruBwd of the state alone", graph.getNumVertices() - before_state);
  popnn::gru::GruWeights both;
  popnn::gru::gruBwdWithWU(graph, params, prog, state, kept, weights, in, out, slopes, &second_grad, both);
  results.read("gruBwdWithWU", concat({second_grad.flatten(), both.inputWeights.flatten(), both.biases.flatten()}));
  const auto kernel = popnn::gru::createWeightsKernel(graph, params, "kernel");
  results.number("gru operands", elements(kernel, popnn::gru::createWeightsBiases(graph, params, "biases")));
}

void rnn(Results &results) {
  Graph &graph = results.graph;
  Sequence &prog = results.prog;
  const auto tanh = popnn::NonLinearityType::TANH;
  Tensor in = results.filled(popnn::rnn::createInput(graph, STEPS, BATCH, IN, OUT, FLOAT),
                             results.operand({STEPS, BATCH, IN}));
  Tensor state = popnn::rnn::createFwdState(graph, FLOAT, BATCH, OUT, prog, true, false, "state");
  Tensor weights = results.filled(popnn::rnn::createWeightsInput(graph, STEPS, BATCH, IN, OUT, FLOAT),
                                  results.operand({IN, OUT}, 1));
  Tensor feedback = results.filled(popnn::rnn::createWeightsFeedback(graph, BATCH, OUT, FLOAT),
                                   results.operand({OUT, OUT}, 2));
  Tensor biases = results.variable(results.operand({OUT}, 3));
  Tensor weighted = popnn::rnn::forwardWeightInput(graph, in, weights, prog);
  results.read("forwardWeightInput", weighted);
  results.read("forwardIterate", popnn::rnn::forwardIterate(graph, weighted, state, feedback, biases, prog, tanh));
  Tensor out = popnn::rnn::rnnFwdSequence(graph, prog, state, nullptr, biases, weights, feedback, in, tanh);
  results.read("rnnFwdSequence", out);
  results.read("rnnFwdSequence of weighted input",
               popnn::rnn::rnnFwdSequence(graph, prog, state, &weighted, biases, weights, feedback, in, tanh, FLOAT));
  Tensor slopes = results.operand({STEPS, BATCH, OUT}, 4);
  Tensor last = popnn::rnn::getOutputFromFwdState(out)[STEPS - 1];
  Tensor backward = popnn::rnn::createBwdState(graph, FLOAT, BATCH, OUT, prog);
  const auto step = popnn::rnn::backwardGradientStep(graph, slopes[2], backward, last, weights, feedback, prog, tanh);
  results.read("backwardGradientStep", concat(step.first, step.second, 1));
  results.read("backwardGradientStep without input",
               popnn::rnn::backwardGradientStep(graph, slopes[2], backward, last, feedback, prog, tanh));
  Tensor input_grad, deltas, feedback_deltas, bias_deltas;
  std::tie(input_grad, deltas, feedback_deltas, bias_deltas) = popnn::rnn::rnnBwdSequence(
      graph, true, false, prog, state, out, biases, weights, feedback, slopes, in, tanh, FLOAT, "backward");
  results.read("rnnBwdSequence", concat({input_grad.flatten(), deltas.flatten(), feedback_deltas.flatten(), bias_deltas}));
  results.number("rnn flops", static_cast<double>(popnn::rnn::getFwdFlops(STEPS, BATCH, IN, OUT) +
                                                  popnn::rnn::getBwdFlops(STEPS, BATCH, IN, OUT) * 1000 +
                                                  popnn::rnn::getWuFlops(STEPS, BATCH, IN, OUT) * 1000000));
}

} // namespace

int main() {
  Device device = small_device();
  Graph graph(device);
  Results results(graph);
  lstm(results);
  gru(results);
  rnn(results);
  results.print(device);
}
