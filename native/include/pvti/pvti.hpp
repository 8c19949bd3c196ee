// libpvti: marks of the host program in a trace. Without PVTI_OPTIONS a tracepoint costs nothing.
#ifndef pvti_pvti_hpp
#define pvti_pvti_hpp

#include <memory>
#include <string>
#include <vector>

#include <poplar/Handle.hpp>

namespace pvti {

/// A source of marks: `pvti::TraceChannel channel = {"solver"};`, also as a global.
struct TraceChannel {
  TraceChannel(const char *name, bool enabled = true) : name(name), enabled(enabled) {}
  const char *name;
  bool enabled;
  poplar::bridge::Handle channel; // of the trace, once there is a mark
};

extern TraceChannel traceDrivers;
extern TraceChannel tracePoplar;

void enableTraceChannel(TraceChannel *channel); // src/pvti.cpp
void disableTraceChannel(TraceChannel *channel); // src/pvti.cpp
bool checkTraceChannel(const TraceChannel *channel); // src/pvti.cpp
std::string getCurrentTraceFilename();
void closeTrace();

/// A span of the host's time: from its construction to its end, or between begin and end.
class Tracepoint {
public:
  Tracepoint(TraceChannel *channel, const std::string &traceLabel); // src/pvti.cpp
  Tracepoint(TraceChannel *channel, const char *ptr, std::size_t len) : Tracepoint(channel, std::string(ptr, len)) {}
  virtual ~Tracepoint(); // src/pvti.cpp
  Tracepoint(const Tracepoint &) = delete;
  Tracepoint &operator=(const Tracepoint &) = delete;

  static void begin(TraceChannel *channel, const std::string &traceLabel); // src/pvti.cpp
  static void end(TraceChannel *channel, const std::string &traceLabel); // src/pvti.cpp
  static void event(TraceChannel *channel, const std::string &traceLabel); // src/pvti.cpp

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

} // namespace pvti

#endif
