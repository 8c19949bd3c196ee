// Engines and compilation: graphs that are moved, and callbacks.
#include "host_objects.hpp"

#include <poplar/Engine.hpp>

namespace poplar {
namespace {

/// What a function of the simulator reads from a file. The libraries of its operations have to be there: a program that
/// builds no graph has called none of them.
template <class R, class... A> R read(bridge::Place &function, const A &...arguments) {
  bridge::locked([] {
    for (const char *library : {"poputil", "popops", "poplin", "popnn", "poprand", "gcl"})
      bridge::py::module_::import((std::string("simulator.poplibs.") + library).c_str());
  });
  return bridge::function<R>(function, arguments...);
}

} // namespace

Executable Executable::deserialize(std::istream &in, bool checkPackageHash) {
  static bridge::Place place{"simulator.poplar", "Executable.deserialize"};
  return read<Executable>(place, in, checkPackageHash);
}

Module Module::deserialize(std::istream &in) {
  static bridge::Place place{"simulator.poplar", "Module.deserialize"};
  return read<Module>(place, in);
}

Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, const OptionFlags &opt,
                        ProgressFunc progressCallBack, const DebugContext &debugContext) {
  const Graph moved = std::move(graph);
  return compileGraph(moved, progs, opt, progressCallBack, debugContext);
}

Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, bridge::Flag checkOptionFlags,
                        const OptionFlags &opt, ProgressFunc progressCallBack, const DebugContext &debugContext) {
  const Graph moved = std::move(graph);
  return compileGraph(moved, progs, checkOptionFlags, opt, progressCallBack, debugContext);
}

Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, const Preallocations &preallocations,
                        const OptionFlags &opt, ProgressFunc progressCallBack, const DebugContext &debugContext) {
  const Graph moved = std::move(graph);
  return compileGraph(moved, progs, preallocations, opt, progressCallBack, debugContext);
}

Executable compileGraph(Graph &&graph, ArrayRef<program::Program> progs, const Preallocations &preallocations,
                        bridge::Flag checkOptionFlags, const OptionFlags &opt, ProgressFunc progressCallBack,
                        const DebugContext &debugContext) {
  const Graph moved = std::move(graph);
  return compileGraph(moved, progs, preallocations, checkOptionFlags, opt, progressCallBack, debugContext);
}

TimerTimePoint::TimerTimePoint(Engine &e) : TimerTimePoint(e.getTimeStamp()) {}

Engine::Engine(Graph &&graph, ArrayRef<program::Program> progs, const OptionFlags &opt, ProgressFunc progressCallBack,
               const DebugContext &debugContext)
    : Engine(static_cast<const Graph &>(graph), progs, opt, progressCallBack, debugContext) {
  graph = Graph();
}

Engine::Engine(Graph &&graph, program::Program prog, const OptionFlags &opt, ProgressFunc progressCallBack,
               const DebugContext &debugContext)
    : Engine(static_cast<const Graph &>(graph), prog, opt, progressCallBack, debugContext) {
  graph = Graph();
}

Module compileModule(Graph &&graph, program::Program prog, const OptionFlags &opt, ProgressFunc progressCallBack,
                     const DebugContext &debugContext) {
  const Graph moved = std::move(graph);
  return compileModule(moved, prog, opt, progressCallBack, debugContext);
}

Module compileModule(Graph &&graph, program::Program prog, const Preallocations &preallocations,
                     const OptionFlags &opt, ProgressFunc progressCallBack, const DebugContext &debugContext) {
  const Graph moved = std::move(graph);
  return compileModule(moved, prog, preallocations, opt, progressCallBack, debugContext);
}

void Engine::connectStreamToCallback(StringRef handle, StreamCallbackHandle f) {
  static bridge::Name name{"connectStreamToCallback"};
  bridge::locked([&] {
    bridge::call_method(bridge::object_of(*this), name, handle, bridge::callback_object(std::move(f)));
  });
}

void Engine::connectStreamToCallback(StringRef handle, unsigned index, StreamCallbackHandle f) {
  static bridge::Name name{"connectStreamToCallback"};
  bridge::locked([&] {
    bridge::call_method(bridge::object_of(*this), name, handle, index, bridge::callback_object(std::move(f)));
  });
}

void Engine::connectHostFunction(StringRef handle, unsigned index, HostCallbackHandle f) {
  static bridge::Name name{"connectHostFunction"};
  bridge::locked([&] {
    bridge::call_method(bridge::object_of(*this), name, handle, index, bridge::callback_object(std::move(f)));
  });
}

} // namespace poplar
