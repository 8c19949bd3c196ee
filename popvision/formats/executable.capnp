@0xf2e295ad2939339b;
# executable.capnp: two standard Cap'n Proto messages: a compiled program (Executable.serialize), and the checksum of that
# message's bytes, which files of version 2.0 lack. Nodes describe values without any code; children are indices of nodes.

struct ExecutableFile {
  format @0 :Text;               # "popvision.executable"
  version @1 :Text;              # "2.1.0"
  package @2 :Text;              # version of the simulator that wrote it
  root @3 :UInt32;
  nodes @4 :List(Node);
}

struct Checksum {
  crc32 @0 :UInt32;
}

struct Node {
  kind @0 :Text;
  text @1 :Text;
  data @2 :Data;
  children @3 :List(UInt32);
}
