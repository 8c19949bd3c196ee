@0xb7c5a3f29e8d1c46;
# serialized_graph.capnp: a stream of standard Cap'n Proto messages: one Header, then Chunks.

struct Header {
  format @0 :Text;          # "popvision.graph"
  version @1 :Text;         # "1.0.0"
  runId @2 :Text;
  facts @3 :Text;           # JSON object
  columns @4 :List(Column); # in the order of their chunks
  crc32 @5 :UInt32;         # of runId, facts and every column's "name,dtype,count", each followed by a zero byte
}

struct Column {
  name @0 :Text;
  dtype @1 :Text;           # u1, u2, u4, u8 or i8, little-endian
  count @2 :UInt64;         # elements over all chunks
}

struct Chunk {
  column @0 :UInt32;        # index into Header.columns
  count @1 :UInt32;         # elements
  codec @2 :UInt8;          # 0 as they are, 1 one zstd frame
  crc32 @3 :UInt32;         # of the text "column,dtype,count,codec;" and then the decoded bytes
  data @4 :Data;
}
