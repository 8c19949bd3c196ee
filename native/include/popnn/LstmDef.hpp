#ifndef popnn_LstmDef_hpp
#define popnn_LstmDef_hpp

namespace popnn {
namespace lstm {

/// The units of a cell, in the order in which weights and biases hold them unless LstmParams says otherwise.
enum BasicLstmCellUnit {
  BASIC_LSTM_CELL_FORGET_GATE,
  BASIC_LSTM_CELL_INPUT_GATE,
  BASIC_LSTM_CELL_CANDIDATE,
  BASIC_LSTM_CELL_OUTPUT_GATE
};
static const unsigned BASIC_LSTM_CELL_NUM_UNITS = 4;

} // namespace lstm
} // namespace popnn

using popnn::lstm::BASIC_LSTM_CELL_CANDIDATE;
using popnn::lstm::BASIC_LSTM_CELL_FORGET_GATE;
using popnn::lstm::BASIC_LSTM_CELL_INPUT_GATE;
using popnn::lstm::BASIC_LSTM_CELL_NUM_UNITS;
using popnn::lstm::BASIC_LSTM_CELL_OUTPUT_GATE;
using popnn::lstm::BasicLstmCellUnit;

#endif
