@0xf2e295ad2939339b;
# executable.capnp: one standard Cap'n Proto message: a compiled program (Executable.serialize). Nodes describe values
# without any code; children are indices of nodes.

struct ExecutableFile {
  format @0 :Text;               # "popvision.executable"
  version @1 :Text;              # "2.0.0"
  package @2 :Text;              # version of the simulator that wrote it
  root @3 :UInt32;
  nodes @4 :List(Node);
}

struct Node {
  kind @0 :Text;
  text @1 :Text;
  data @2 :Data;
  children @3 :List(UInt32);
}
