"""The types of programs. Without NumPy: the tables of the file name them too."""

#: Program types, spelled as libpva's Program.Type members.
PROGRAM_TYPES = (
    "Sequence", "Repeat", "RepeatWhile", "If", "Switch", "OnEveryTileSwitch", "Call", "OnTileExecute",
    "DoExchange", "GlobalExchange", "StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd", "Sync", "SyncAns",
    "Sans", "WriteUndef", "Block", "AbortOnCondition", "CrossReplicaCopy", "Unknown",
    "SetLocalConsensusFromVar", "AssumeEqualAcrossReplicas", "Abort", "SetLocalConsensus", "GetGlobalConsensus",
)  # fmt: skip
