@0xd1f7a06c4b8e2953;
# tensor_views.capnp: one standard Cap'n Proto message: tensors as views of variables (Graph.serializeTensors).

struct TensorViews {
  format @0 :Text;               # "popvision.tensors"
  version @1 :Text;              # "1.0.0"
  variables @2 :List(Variable);
  tensors @3 :List(TensorView);
}

struct Variable {
  name @0 :Text;
  type @1 :Text;                 # element type, for example "float"
  numElements @2 :UInt64;
}

struct TensorView {
  type @0 :Text;
  shape @1 :List(UInt64);
  regions @2 :List(Region);      # the flattened tensor, in order
}

struct Region {
  variable @0 :UInt32;           # index into TensorViews.variables
  begin @1 :UInt64;              # first element within the variable
  length @2 :UInt64;             # elements
}
