// libpvti and the traces that it writes, read by libpva in another run of this program.
#include <iostream>
#include <thread>

#include <pva/pva.hpp>
#include <pvti/pvti.hpp>

#undef NDEBUG
#include <cassert>

static pvti::TraceChannel channel = {"solver"};

namespace {

struct Solver {
  pvti::Client client;
  void step(unsigned number) {
    const pvti::Metadata metadata = pvti::createJsonMetadata("{\"number\": " + std::to_string(number) + "}");
    const std::string label = "step and more";
    pvti::Tracepoint point(&channel, label.data(), 4, &metadata);
    pvti::Tracepoint inner(&channel, "inner");
  }
};

void mark() {
  assert(pvti::listTraceChannel().size() == 4 && pvti::checkTraceChannel(&channel));
  Solver solver;
  solver.step(1);
  std::thread([&] {
    pvti::ThreadName("helper");
    solver.step(2);
  }).join();
  pvti::disableTraceChannel(&channel);
  solver.step(3);
  pvti::enableTraceChannel(&channel);
  pvti::Tracepoint::event(&channel, "instant");
  pvti::Tracepoint::begin(&pvti::traceFramework, "open");
  pvti::Tracepoint::end(&pvti::traceFramework, "open");
  pvti::Graph graph("residual", "m");
  pvti::Series series = graph.addSeries("norm");
  series.add(0.5);
  series.add(0.25);
  pvti::HeatmapInt counts("counts", {0, 2, 4});
  counts.add({1, 1, 3, 9});
  pvti::HeatmapDouble("doubles", {0, 1}).add({0.5});
  pvti::HeatmapFloat("floats", {0, 1}, "s").add({0.5f});
}

void show(const char *file) {
  const pva::Trace trace = pva::openTrace(file);
  for (const pva::Thread &thread : trace.processes().at(0).threads())
    for (const pva::Event &event : thread.events())
      if (event.channel() == "solver")
        std::cout << event.label() << ' ' << event.children().size() << ' ' << event.metadata() << '\n';
  const pva::LineGraph graph = trace.lineGraphs().at(0);
  std::cout << graph.name() << ' ' << graph.unit() << ' ' << graph.series().at(0).values().at(1) << '\n';
  const pva::Heatmap counts = trace.heatmaps().at(0);
  const std::vector<std::vector<std::uint32_t>> quantities = counts.quantities();
  for (const std::uint32_t count : quantities.at(0))
    std::cout << count << ' ';
  std::cout << counts.edges().at(2) << ' ' << trace.heatmaps().size() << '\n';
}

} // namespace

int main(int count, char **arguments) {
  if (count > 1)
    show(arguments[1]);
  else
    mark();
}
