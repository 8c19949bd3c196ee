// A piece of graph that is built once and used with other tensors: a call copies the arguments in and the results out.
#ifndef poputil_GraphFunction_hpp
#define poputil_GraphFunction_hpp

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>

namespace poputil {
namespace graphfn {

enum ArgType { InputArg, OutputArg, InOutArg, CreatedArg };

/// An argument: its use, a tensor with its shape and layout, its name.
struct ArgSig {
  ArgSig(ArgType type, poplar::Tensor tensor, std::string debugName)
      : type(type), similarTensor(std::move(tensor)), debugName(std::move(debugName)) {}

  ArgType type;
  poplar::Tensor similarTensor;
  std::string debugName;
};

inline ArgSig input(poplar::Tensor similar, std::string debugName = "") {
  return ArgSig(InputArg, std::move(similar), std::move(debugName));
}
inline ArgSig inout(poplar::Tensor similar, std::string debugName = "") {
  return ArgSig(InOutArg, std::move(similar), std::move(debugName));
}
inline ArgSig output(poplar::Tensor similar, std::string debugName = "") {
  return ArgSig(OutputArg, std::move(similar), std::move(debugName));
}
/// An argument that the function creates: it puts the tensor into its list of arguments.
inline ArgSig created(std::string debugName = "") {
  return ArgSig(CreatedArg, poplar::Tensor(), std::move(debugName));
}

using Signature = std::vector<ArgSig>;

/// `f` builds the piece once. With `inlined` each call contains its programs, else calls one function of the graph.
class VoidFunction : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  VoidFunction(poplar::Graph &graph, Signature sig,
               std::function<void(std::vector<poplar::Tensor> &, poplar::program::Sequence &)> f, bool inlined = true);
  void operator()(std::vector<poplar::Tensor> &args, poplar::program::Sequence &seq);
};

/// A function whose builder returns the program.
class ProgramFunction : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  ProgramFunction(poplar::Graph &graph, Signature sig,
                  std::function<poplar::program::Program(std::vector<poplar::Tensor> &)> f, bool inlined = true);
  poplar::program::Program operator()(std::vector<poplar::Tensor> &args);
};

/// A function whose builder returns a tensor; each call returns a new one.
class TensorFunction : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  TensorFunction(poplar::Graph &graph, Signature sig,
                 std::function<poplar::Tensor(std::vector<poplar::Tensor> &, poplar::program::Sequence &)> f,
                 bool inlined = true);
  poplar::Tensor operator()(std::vector<poplar::Tensor> &args, poplar::program::Sequence &prog);
};

} // namespace graphfn
} // namespace poputil

#endif
