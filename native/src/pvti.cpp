// Tracepoints. The channel of the trace is made with its first mark, so that global channels cost nothing.
#include "tables.hpp"

#include <cstdlib>

namespace pvti {

namespace bridge = poplar::bridge;

TraceChannel traceDrivers = {"Drivers"};
TraceChannel tracePoplar = {"Poplar"};

namespace {

/// Whether marks are recorded at all.
bool tracing() {
  static const bool set = std::getenv("PVTI_OPTIONS") != nullptr;
  return set;
}

void mark(const char *kind, TraceChannel *channel, const std::string &label) {
  if (!tracing() || !channel->enabled)
    return;
  static bridge::Place create{"popvision.pvti", "createTraceChannel"}, point{"popvision.pvti", "Tracepoint"};
  bridge::locked([&] {
    if (!channel->channel.share())
      channel->channel.share(bridge::shared(bridge::call(create.get(), std::string(channel->name))));
    bridge::py::handle(point.get()).attr(kind)(bridge::py::reinterpret_borrow<bridge::py::object>(
        static_cast<PyObject *>(channel->channel.share().get())), bridge::to(label));
  });
}

} // namespace

void enableTraceChannel(TraceChannel *channel) { channel->enabled = true; }
void disableTraceChannel(TraceChannel *channel) { channel->enabled = false; }
bool checkTraceChannel(const TraceChannel *channel) { return tracing() && channel->enabled; }

void Tracepoint::begin(TraceChannel *channel, const std::string &traceLabel) { mark("begin", channel, traceLabel); }
void Tracepoint::end(TraceChannel *channel, const std::string &traceLabel) { mark("end", channel, traceLabel); }
void Tracepoint::event(TraceChannel *channel, const std::string &traceLabel) { mark("event", channel, traceLabel); }

Tracepoint::Tracepoint(TraceChannel *channel, const std::string &traceLabel) : channel(channel), label(traceLabel) {
  begin(channel, label);
}
Tracepoint::~Tracepoint() { end(channel, label); }

} // namespace pvti
