// Visitors of libpva's programs.
#include <pva/pva.hpp>

namespace pva {

void Program::accept(ProgramVisitor &visitor) const {
  switch (type()) {
#define PVA_CASE(TYPE, CLASS)                                                                                          \
  case Type::TYPE:                                                                                                     \
    return visitor.visit##TYPE(CLASS(share()));
    PVA_CASE(Sequence, Program)
    PVA_CASE(Repeat, Program)
    PVA_CASE(RepeatWhile, Program)
    PVA_CASE(If, Program)
    PVA_CASE(Switch, Program)
    PVA_CASE(OnEveryTileSwitch, Program)
    PVA_CASE(Call, Program)
    PVA_CASE(OnTileExecute, OnTileExecuteProgram)
    PVA_CASE(DoExchange, DoExchangeProgram)
    PVA_CASE(GlobalExchange, GlobalExchangeProgram)
    PVA_CASE(StreamCopyBegin, StreamCopyBeginProgram)
    PVA_CASE(StreamCopyMid, StreamCopyMidProgram)
    PVA_CASE(StreamCopyEnd, StreamCopyEndProgram)
    PVA_CASE(Sync, Program)
    PVA_CASE(SyncAns, Program)
    PVA_CASE(Sans, Program)
    PVA_CASE(WriteUndef, Program)
    PVA_CASE(Block, Program)
    PVA_CASE(AbortOnCondition, Program)
    PVA_CASE(CrossReplicaCopy, Program)
    PVA_CASE(Unknown, Program)
    PVA_CASE(SetLocalConsensusFromVar, Program)
    PVA_CASE(AssumeEqualAcrossReplicas, Program)
    PVA_CASE(Abort, Program)
    PVA_CASE(SetLocalConsensus, Program)
    PVA_CASE(GetGlobalConsensus, Program)
#undef PVA_CASE
  }
}

} // namespace pva
