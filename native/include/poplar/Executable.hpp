#ifndef poplar_Executable_hpp
#define poplar_Executable_hpp

#include <functional>
#include <istream>
#include <ostream>

#include <poplar/Graph.hpp>

namespace poplar {

/// Called with the steps done and the steps of a compilation.
using ProgressFunc = std::function<void(int, int)>;

/// A compiled graph with its programs.
class Executable : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  Executable() = default;
  Executable(const Executable &) = default;
  Executable(Executable &&) noexcept = default;
  Executable &operator=(const Executable &) = default;
  Executable &operator=(Executable &&) noexcept = default;
  void serialize(std::ostream &out) const;
  static Executable deserialize(std::istream &in, bool checkPackageHash = true);
  Target getTarget() const;
};

Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, const OptionFlags &opt = {},
                        ProgressFunc progressCallBack = ProgressFunc(),
                        const DebugContext &debugContext = {}); // src/engine.cpp
Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs, const OptionFlags &opt = {},
                        ProgressFunc progressCallBack = ProgressFunc(), const DebugContext &debugContext = {});
Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, bool checkOptionFlags,
                        const OptionFlags &opt = {}, ProgressFunc progressCallBack = ProgressFunc(),
                        const DebugContext &debugContext = {}); // src/engine.cpp
Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs, bool checkOptionFlags,
                        const OptionFlags &opt = {}, ProgressFunc progressCallBack = ProgressFunc(),
                        const DebugContext &debugContext = {});

/// Tiles of external variables, by the symbol given to Graph::addExternalVariable.
class Preallocations : public bridge::Handle {
public:
  Preallocations();
  void add(StringRef symbol, unsigned tile);
};

/// A graph with one program, which another runtime branches to.
class Module : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  Module() = default;
  Target getTarget() const;
  std::vector<std::string> getSymbols() const;
  void serialize(std::ostream &out) const;
  static Module deserialize(std::istream &in);
};

#define POPLAR_REST                                                                                                    \
  const OptionFlags &opt = {}, ProgressFunc progressCallBack = ProgressFunc(), const DebugContext &debugContext = {}

Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, const Preallocations &preallocations,
                        POPLAR_REST); // src/engine.cpp
Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs, const Preallocations &preallocations,
                        POPLAR_REST);
Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, const Preallocations &preallocations,
                        bool checkOptionFlags, POPLAR_REST); // src/engine.cpp
Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs, const Preallocations &preallocations,
                        bool checkOptionFlags, POPLAR_REST);
Module compileModule(Graph &&graph, program::Program prog, POPLAR_REST); // src/engine.cpp
Module compileModule(const Graph &graph, program::Program prog, POPLAR_REST);
Module compileModule(Graph &&graph, program::Program prog, const Preallocations &preallocations,
                     POPLAR_REST); // src/engine.cpp
Module compileModule(const Graph &graph, program::Program prog, const Preallocations &preallocations, POPLAR_REST);

#undef POPLAR_REST

} // namespace poplar

#endif
