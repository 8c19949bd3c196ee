#ifndef poplar_Engine_hpp
#define poplar_Engine_hpp

#include <cstdint>
#include <string>
#include <vector>

#include <poplar/Executable.hpp>
#include <poplar/Program.hpp>
#include <poplar/Quarter.hpp>
#include <poplar/StreamCallback.hpp>
#include <pva/pva.hpp>

namespace poplar {

/// Bytes of scratch space of each worker thread.
static const unsigned WORKER_SCRATCH_SIZE = 48;

class Engine;

/// A moment of an engine, from Engine::getTimeStamp().
class TimerTimePoint : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  TimerTimePoint() = default;
  explicit TimerTimePoint(Engine &e); // src/engine.cpp
};

/// Options of single runs.
class RuntimeOptions : public bridge::Handle {
public:
  RuntimeOptions(const OptionFlags &flags = {});
};

/// Runs the programs of a graph on a device.
class Engine : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  using ProgressFunc = poplar::ProgressFunc;
  using TimerTimePoint = poplar::TimerTimePoint;

  Engine() = default;
  /// Compile. A graph that is moved is empty afterwards; one that is not stays as it is.
  Engine(Graph &&graph, ArrayRef<program::Program> progs, const OptionFlags &opt = {},
         ProgressFunc progressCallBack = ProgressFunc(), const DebugContext &debugContext = {}); // src/engine.cpp
  Engine(const Graph &graph, ArrayRef<program::Program> progs, const OptionFlags &opt = {},
         ProgressFunc progressCallBack = ProgressFunc(), const DebugContext &debugContext = {});
  Engine(Graph &&graph, program::Program prog, const OptionFlags &opt = {},
         ProgressFunc progressCallBack = ProgressFunc(), const DebugContext &debugContext = {}); // src/engine.cpp
  Engine(const Graph &graph, program::Program prog, const OptionFlags &opt = {},
         ProgressFunc progressCallBack = ProgressFunc(), const DebugContext &debugContext = {});
  Engine(const Executable &exe, const OptionFlags &opt = {});
  Engine(Engine &&) noexcept = default;
  Engine &operator=(Engine &&) noexcept = default;

  void prepare(const Device &device);
  void prepare(const Device &device, const RuntimeOptions &runOptions);
  void deploy();
  /// Put the program and initial values on the device.
  void load(const Device &device);
  void run(unsigned prog = 0, const std::string &debugName = "");
  void run(unsigned prog, const std::string &debugName, const RuntimeOptions &options);
  /// End the running program; another thread may call it.
  void stop();
  void loadAndRun(const Device &device, unsigned prog = 0);

  TimerTimePoint getTimeStamp();
  static std::string reportTiming(const TimerTimePoint &start, const TimerTimePoint &end);
  void resetExecutionProfile();
  void disableExecutionProfiling();
  void enableExecutionProfiling();
  /// The report of this engine's compilation and runs.
  pva::Report getReport(bool reportExecution = true);
  /// getReport without and with runs, as version 1 spelled it.
  pva::Report getGraphProfile();
  pva::Report getExecutionProfile();
  void printProfileSummary(std::ostream &outputStream, const OptionFlags &opt = {});
  void reportIntervals(std::ostream &outputStream);

  void readTensor(StringRef handle, void *buf, void *bufEnd);
  void readTensor(StringRef handle, QuarterMetadata &metadata, void *buf, void *bufEnd);
  void writeTensor(StringRef handle, const QuarterMetadata &metadata, const void *buf, const void *bufEnd);
  template <class T> void readTensor(StringRef handle, gccs::ArrayRef<T> buffer) {
    readTensor(handle, const_cast<T *>(buffer.begin()), const_cast<T *>(buffer.end()));
  }
  void writeTensor(StringRef handle, const void *buf, const void *bufEnd);
  template <class T> void writeTensor(StringRef handle, ArrayRef<T> buffer) {
    writeTensor(handle, buffer.begin(), buffer.end());
  }

  /// Connect a stream to memory of the program, which is used where it is: it has to live as long as the engine runs.
  void connectStream(StringRef handle, void *begin, void *end);
  template <class T> void connectStream(StringRef handle, const gccs::ArrayRef<T> &buffer) {
    connectStream(handle, const_cast<T *>(buffer.begin()), const_cast<T *>(buffer.end()));
  }
  void connectStream(StringRef handle, void *p);
  /// A stream of QUARTER: one metadata object for each replica, read or written with each transfer.
  void connectStream(StringRef handle, const gccs::ArrayRef<QuarterMetadata> &metadata, void *begin, void *end);
  void connectStreamToCallback(StringRef handle, StreamCallbackHandle f); // src/engine.cpp
  void connectStreamToCallback(StringRef handle, unsigned index, StreamCallbackHandle f); // src/engine.cpp
  /// The same for a stream itself.
  void connectStream(const DataStream &stream, void *begin, void *end) { connectStream(stream.handle(), begin, end); }
  void connectStream(const DataStream &stream, void *p) { connectStream(stream.handle(), p); }
  void connectStreamToCallback(const DataStream &stream, StreamCallbackHandle f) {
    connectStreamToCallback(stream.handle(), std::move(f));
  }
  void connectStreamToCallback(const DataStream &stream, unsigned index, StreamCallbackHandle f) {
    connectStreamToCallback(stream.handle(), index, std::move(f));
  }
  void connectHostFunction(StringRef handle, unsigned index, HostCallbackHandle f); // src/engine.cpp

  void copyFromRemoteBuffer(StringRef handle, void *w, std::uint64_t repeatIndex, unsigned replicationIndex = 0);
  template <class T>
  void copyFromRemoteBuffer(StringRef handle, gccs::ArrayRef<T> buffer, std::uint64_t repeatIndex,
                            unsigned replicationIndex = 0) {
    copyFromRemoteBuffer(handle, bridge::memory(buffer), repeatIndex, replicationIndex);
  }
  void copyToRemoteBuffer(void *w, StringRef handle, std::uint64_t repeatIndex, unsigned replicationIndex = 0);
  template <class T>
  void copyToRemoteBuffer(ArrayRef<T> buffer, StringRef handle, std::uint64_t repeatIndex,
                          unsigned replicationIndex = 0) {
    copyToRemoteBuffer(bridge::memory(buffer), handle, repeatIndex, replicationIndex);
  }

  std::vector<std::string> listStreams() const;
  /// Plan an error for the next run, at a place of `getSimulatedErrorLocations`.
  void insertSimulatedError(ErrorCode error, ErrorLocation const &location);
  void eraseSimulatedError(ErrorLocation const &location);
  void clearSimulatedErrors();
  std::vector<ErrorLocation> getSimulatedErrorLocations(unsigned programId) const;
  std::vector<ErrorLocation> getSimulatedErrorLocations(unsigned programId, unsigned tile) const;
  std::vector<ErrorLocation> getSimulatedErrorLocations(StringRef vertexName) const;
  std::vector<ErrorLocation> getSimulatedErrorLocations(StringRef vertexName, unsigned tile) const;
  void setPrintStream(std::ostream &stream);
  void setPrintTensorStream(std::ostream &stream);
  OptionFlags getEngineOptions() const;
  void serializeExecutable(std::ostream &out) const;

private:
  void copyFromRemoteBuffer(StringRef handle, bridge::Memory buffer, std::uint64_t repeatIndex,
                            unsigned replicationIndex);
  void copyToRemoteBuffer(bridge::Memory buffer, StringRef handle, std::uint64_t repeatIndex,
                          unsigned replicationIndex);
};

} // namespace poplar

#endif
