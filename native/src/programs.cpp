// Programs as values: a copy of one that can grow is a copy.
#include "host_objects.hpp"

namespace poplar {
namespace program {
namespace {

std::shared_ptr<void> copied(const Program &other) {
  static bridge::Place copy{"simulator.graph.programs.base", "copied"};
  return other.share() ? bridge::made(copy, other) : nullptr;
}

} // namespace

Program::Program(const Program &other) : Handle(copied(other)) {}

Program &Program::operator=(const Program &other) {
  share(copied(other));
  return *this;
}

Sequence::Sequence(std::initializer_list<Program> programs, const DebugContext &debugContext)
    : Sequence(debugContext) {
  for (const Program &program : programs)
    add(program);
}

Switch &Switch::add(std::int32_t val, const Program &body) {
  static bridge::Name name{"add"};
  bridge::method<void>(*this, name, val, body);
  return *this;
}

} // namespace program
} // namespace poplar
