#ifndef poplar_Executable_hpp
#define poplar_Executable_hpp

#include <functional>
#include <istream>
#include <ostream>
#include <type_traits>

#include <poplar/Graph.hpp>

namespace poplar {

namespace bridge {
/// A bool and nothing that would become one: neither {} nor a progress callback without captures.
class Flag {
public:
  template <class T, class = typename std::enable_if<std::is_same<T, bool>::value>::type>
  Flag(T value) : value(value) {}
  operator bool() const { return value; }

private:
  bool value;
};

/// Bytes of the program, whose number is compared with what is moved.
struct Memory {
  void *begin;
  std::size_t size;
};
template <class T> Memory memory(const ArrayRef<T> &values) {
  return {const_cast<T *>(values.data()), values.size() * sizeof(T)};
}
} // namespace bridge

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
  static Executable deserialize(std::istream &in, bool checkPackageHash = true); // src/engine.cpp
  Target getTarget() const;
};

Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, const OptionFlags &opt = {},
                        ProgressFunc progressCallBack = ProgressFunc(),
                        const DebugContext &debugContext = {}); // src/engine.cpp
Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs, const OptionFlags &opt = {},
                        ProgressFunc progressCallBack = ProgressFunc(), const DebugContext &debugContext = {});
Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, bridge::Flag checkOptionFlags,
                        const OptionFlags &opt = {}, ProgressFunc progressCallBack = ProgressFunc(),
                        const DebugContext &debugContext = {}); // src/engine.cpp
Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs, bridge::Flag checkOptionFlags,
                        const OptionFlags &opt = {}, ProgressFunc progressCallBack = ProgressFunc(),
                        const DebugContext &debugContext = {});

/// Tiles and addresses of external variables, by the symbol given to Graph::addExternalVariable.
class Preallocations : public bridge::Handle {
public:
  Preallocations();
  void add(StringRef symbol, unsigned tile);
  /// Elements on tiles, each at a byte of the tile's memory; -1 where linking chooses.
  void add(StringRef symbol, const std::vector<std::tuple<unsigned, Interval, std::int64_t>> &parts);
};

/// A graph with one program, which another runtime branches to.
class Module : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  Module() = default;
  Target getTarget() const;
  std::vector<std::string> getSymbols() const;
  void serialize(std::ostream &out) const;
  static Module deserialize(std::istream &in); // src/engine.cpp
};

/// Runs a module: loads its code and branches to it on every tile.
class ModuleRuntime : public bridge::Handle {
public:
  ModuleRuntime(const Module &module);
  void load(const Device &device);
  /// Returns the cycles until the last tile is done.
  std::uint64_t run();
  /// Copy between memory of the program and an external variable of exactly its size.
  template <class T> void writeExternal(StringRef symbol, gccs::ArrayRef<T> buffer) {
    writeExternal(symbol, bridge::memory(buffer));
  }
  template <class T> void readExternal(StringRef symbol, gccs::ArrayRef<T> buffer) {
    readExternal(symbol, bridge::memory(buffer));
  }

private:
  void writeExternal(StringRef symbol, bridge::Memory buffer);
  void readExternal(StringRef symbol, bridge::Memory buffer);
};

#define POPLAR_REST                                                                                                    \
  const OptionFlags &opt = {}, ProgressFunc progressCallBack = ProgressFunc(), const DebugContext &debugContext = {}

Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, const Preallocations &preallocations,
                        POPLAR_REST); // src/engine.cpp
Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs, const Preallocations &preallocations,
                        POPLAR_REST);
Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, const Preallocations &preallocations,
                        bridge::Flag checkOptionFlags, POPLAR_REST); // src/engine.cpp
Executable compileGraph(const Graph &graph, ArrayRef<program::Program> progs, const Preallocations &preallocations,
                        bridge::Flag checkOptionFlags, POPLAR_REST);
Module compileModule(Graph &&graph, program::Program prog, POPLAR_REST); // src/engine.cpp
Module compileModule(const Graph &graph, program::Program prog, POPLAR_REST);
Module compileModule(Graph &&graph, program::Program prog, const Preallocations &preallocations,
                     POPLAR_REST); // src/engine.cpp
Module compileModule(const Graph &graph, program::Program prog, const Preallocations &preallocations, POPLAR_REST);

#undef POPLAR_REST

} // namespace poplar

#endif
