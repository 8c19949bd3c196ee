// libpvti: marks of the host program in a trace. Without PVTI_OPTIONS a tracepoint costs nothing.
#ifndef pvti_pvti_hpp
#define pvti_pvti_hpp

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <poplar/Handle.hpp>

namespace pvti {

/// A source of marks: `pvti::TraceChannel channel = {"solver"};`, also as a global.
struct TraceChannel {
  TraceChannel(const char *name, bool enabled = true); // src/pvti.cpp
  TraceChannel(const TraceChannel &other); // src/pvti.cpp
  TraceChannel &operator=(const TraceChannel &other) = default;
  ~TraceChannel(); // src/pvti.cpp
  const char *name;
  bool enabled;
  poplar::bridge::Handle channel; // of the trace, once there is a mark
};

extern TraceChannel &traceDrivers;
extern TraceChannel &tracePoplar;
extern TraceChannel &traceFramework;

void enableTraceChannel(TraceChannel *channel); // src/pvti.cpp
void disableTraceChannel(TraceChannel *channel); // src/pvti.cpp
bool checkTraceChannel(const TraceChannel *channel); // src/pvti.cpp
/// The channels that there are, in the order in which they were made.
std::vector<TraceChannel *> listTraceChannel(); // src/pvti.cpp
std::string getCurrentTraceFilename();
void closeTrace();

/// What an event carries beside its label; derive from it, or make JSON from text.
class Metadata {
public:
  explicit Metadata(std::string json = "") : json(std::move(json)) {}
  virtual ~Metadata() = default;
  /// The JSON text.
  virtual std::string text() const { return json; }

private:
  std::string json;
};

/// Metadata of JSON text. Throws poplar::poplar_error for text that is none.
Metadata createJsonMetadata(const std::string &text); // src/pvti.cpp

/// A span of the host's time: from its construction to its end, or between begin and end.
class Tracepoint {
public:
  Tracepoint(TraceChannel *channel, const std::string &traceLabel); // src/pvti.cpp
  Tracepoint(TraceChannel *channel, const std::string &traceLabel, const Metadata *metadata); // src/pvti.cpp
  Tracepoint(TraceChannel *channel, const char *ptr, std::size_t len) : Tracepoint(channel, std::string(ptr, len)) {}
  Tracepoint(TraceChannel *channel, const char *ptr, std::size_t len, const Metadata *metadata)
      : Tracepoint(channel, std::string(ptr, len), metadata) {}
  virtual ~Tracepoint(); // src/pvti.cpp
  Tracepoint(const Tracepoint &) = delete;
  Tracepoint &operator=(const Tracepoint &) = delete;

  static void begin(TraceChannel *channel, const std::string &traceLabel,
                    const Metadata *metadata = nullptr); // src/pvti.cpp
  static void end(TraceChannel *channel, const std::string &traceLabel); // src/pvti.cpp
  static void event(TraceChannel *channel, const std::string &traceLabel,
                    const Metadata *metadata = nullptr); // src/pvti.cpp

private:
  TraceChannel *channel;
  std::string label;
};

/// A line of a graph.
class Series : public poplar::bridge::Handle {
public:
  using poplar::bridge::Handle::Handle;
  void add(double value);
};

/// Values over time, several lines.
class Graph : public poplar::bridge::Handle {
public:
  Graph(const std::string &name, const std::string &unit = "", bool enable = true);
  Series addSeries(const std::string &name);
};

/// Histograms over time; `edges` bound their bins.
class HeatmapDouble : public poplar::bridge::Handle {
public:
  HeatmapDouble(const std::string &name, const std::vector<double> &edges, const std::string &unit = "");
  void add(const std::vector<double> &values);
};

class HeatmapFloat : public poplar::bridge::Handle {
public:
  HeatmapFloat(const std::string &name, const std::vector<float> &edges, const std::string &unit = "");
  void add(const std::vector<float> &values);
};

class HeatmapInt : public poplar::bridge::Handle {
public:
  HeatmapInt(const std::string &name, const std::vector<int> &edges, const std::string &unit = "");
  void add(const std::vector<int> &values);
};

/// The quantities of one histogram as a trace stores them: underflow, bins, overflow.
std::vector<std::uint32_t> decodeHeatmapData(const std::vector<std::uint8_t> &blob); // src/pvti.cpp

/// Name the calling thread in the trace.
void ThreadName(const std::string &name); // src/pvti.cpp

/// Keeps the trace open while it lives: a member of objects that mark until the program ends. The trace is open as long
/// as Python runs, which is until exit functions have run, so nothing is left to keep.
class Client {
public:
  Client(); // src/pvti.cpp
};

} // namespace pvti

#endif
