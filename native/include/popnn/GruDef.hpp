#ifndef popnn_GruDef_hpp
#define popnn_GruDef_hpp

namespace popnn {
namespace gru {

/// The units of a cell, in the order in which weights and biases hold them unless GruParams says otherwise.
enum BasicGruCellUnit { BASIC_GRU_CELL_RESET_GATE, BASIC_GRU_CELL_UPDATE_GATE, BASIC_GRU_CELL_CANDIDATE };
static const unsigned BASIC_GRU_CELL_NUM_UNITS = 3;

} // namespace gru
} // namespace popnn

using popnn::gru::BASIC_GRU_CELL_CANDIDATE;
using popnn::gru::BASIC_GRU_CELL_NUM_UNITS;
using popnn::gru::BASIC_GRU_CELL_RESET_GATE;
using popnn::gru::BASIC_GRU_CELL_UPDATE_GATE;
using popnn::gru::BasicGruCellUnit;

#endif
