// Tracepoints. The channel of the trace is made with its first mark, so that global channels cost nothing.
#include "tables_pvti.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <pybind11/pybind11.h>

namespace pvti {

namespace bridge = poplar::bridge;

namespace {

std::mutex listing;

std::vector<TraceChannel *> &channels() {
  static auto *listed = new std::vector<TraceChannel *>; // channels of the program may die after everything else
  return *listed;
}

void list(TraceChannel *channel) {
  const std::lock_guard<std::mutex> guard(listing);
  channels().push_back(channel);
}

/// Whether marks are recorded at all.
bool tracing() {
  static const bool set = std::getenv("PVTI_OPTIONS") != nullptr;
  return set;
}

void mark(const char *kind, TraceChannel *channel, const std::string &label, const Metadata *metadata) {
  if (!tracing() || !channel->enabled)
    return;
  static bridge::Place create{"popvision.pvti", "createTraceChannel"}, point{"popvision.pvti", "Tracepoint"};
  bridge::locked([&] {
    if (!channel->channel.share())
      channel->channel.share(bridge::shared(bridge::call(create.get(), std::string(channel->name))));
    const bridge::py::handle place = static_cast<PyObject *>(channel->channel.share().get());
    const auto function = bridge::py::handle(point.get()).attr(kind);
    if (metadata == nullptr)
      function(place, bridge::to(label));
    else
      function(place, bridge::to(label), bridge::to(metadata->text()));
  });
}

} // namespace

TraceChannel::TraceChannel(const char *name, bool enabled) : name(name), enabled(enabled) { list(this); }
TraceChannel::TraceChannel(const TraceChannel &other)
    : name(other.name), enabled(other.enabled), channel(other.channel) {
  list(this);
}
TraceChannel::~TraceChannel() {
  const std::lock_guard<std::mutex> guard(listing);
  channels().erase(std::remove(channels().begin(), channels().end(), this), channels().end());
}

TraceChannel &traceDrivers = *new TraceChannel("Drivers");
TraceChannel &tracePoplar = *new TraceChannel("Poplar");
TraceChannel &traceFramework = *new TraceChannel("Framework");

void enableTraceChannel(TraceChannel *channel) { channel->enabled = true; }
void disableTraceChannel(TraceChannel *channel) { channel->enabled = false; }
bool checkTraceChannel(const TraceChannel *channel) { return tracing() && channel->enabled; }
std::vector<TraceChannel *> listTraceChannel() {
  const std::lock_guard<std::mutex> guard(listing);
  return channels();
}

Client::Client() {
  if (tracing())
    bridge::start();
}

void ThreadName(const std::string &name) {
  static bridge::Place place{"popvision.pvti", "ThreadName"};
  if (tracing())
    bridge::function<void>(place, name);
}

Metadata createJsonMetadata(const std::string &text) {
  static bridge::Place place{"popvision.pvti", "createJsonMetadata"};
  return Metadata(bridge::function<std::string>(place, text));
}

std::vector<std::uint32_t> decodeHeatmapData(const std::vector<std::uint8_t> &blob) {
  static bridge::Place place{"popvision.pvti", "decodeHeatmapData"};
  return bridge::locked([&] {
    const bridge::py::bytes bytes(reinterpret_cast<const char *>(blob.data()), blob.size());
    return bridge::result<std::vector<std::uint32_t>>(bridge::call(place.get(), bridge::py::object(bytes)));
  });
}

void Tracepoint::begin(TraceChannel *channel, const std::string &traceLabel, const Metadata *metadata) {
  mark("begin", channel, traceLabel, metadata);
}
void Tracepoint::end(TraceChannel *channel, const std::string &traceLabel) {
  mark("end", channel, traceLabel, nullptr);
}
void Tracepoint::event(TraceChannel *channel, const std::string &traceLabel, const Metadata *metadata) {
  mark("event", channel, traceLabel, metadata);
}

Tracepoint::Tracepoint(TraceChannel *channel, const std::string &traceLabel)
    : Tracepoint(channel, traceLabel, nullptr) {}
Tracepoint::Tracepoint(TraceChannel *channel, const std::string &traceLabel, const Metadata *metadata)
    : channel(channel), label(traceLabel) {
  begin(channel, label, metadata);
}
Tracepoint::~Tracepoint() { end(channel, label); }

} // namespace pvti
