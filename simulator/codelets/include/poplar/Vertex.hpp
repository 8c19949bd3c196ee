// The kinds of vertex, and the functions with which the simulator runs a row of them (simulator/codelets/host/runner.c).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>

#include <poplar/FieldTypes.hpp>
#include <poplar/HalfFloat.hpp>
#include <poplar/QuarterFloat.hpp>
#ifdef __IPU__
#include <popvision_tile.hpp>
#endif

// What the tiles' compiler has beside the builtin functions of the host's.
#define __builtin_assume(condition) ((condition) ? (void)0 : __builtin_unreachable())

namespace poplar {

class Vertex {};

class SupervisorVertex : public Vertex {};

class MultiVertex : public Vertex {
 public:
  static constexpr unsigned numWorkers() { return 6; }
};

namespace host {

template <bool Supervisor>
struct VertexOrSupervisor {
  using type = Vertex;
};
template <>
struct VertexOrSupervisor<true> {
  using type = SupervisorVertex;
};

// Data that the runner shares with the vertices.
struct Position {
  unsigned long vertex;
  unsigned worker;
  unsigned result;
};

// simulator/codelets/compiled/cycle_counter.py defines it for programs that read the cycle counter.
inline void vertex_begins() {}

template <class C, class Function>
void run_row(char *state, unsigned long first, unsigned long last, unsigned first_worker, unsigned last_worker,
             volatile Position *at, Function function) {
  for (unsigned long i = first; i < last; ++i) {
    at->vertex = i;
    C &vertex = *reinterpret_cast<C *>(state + i * sizeof(C));
    if constexpr (__is_base_of(MultiVertex, C)) {
      for (unsigned worker = first_worker; worker < last_worker; ++worker) {
        at->worker = worker;
        vertex_begins();
        if (!function(vertex, worker)) at->result = 0;
      }
    } else {
      vertex_begins();
      if (!function(vertex, 0u)) at->result = 0;
    }
  }
}

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;

template <class C, class... Arguments>
bool done(C &vertex, Arguments... arguments) {
  if constexpr (same<decltype(vertex.compute(arguments...)), void>) {
    vertex.compute(arguments...);
    return true;
  } else {
    return static_cast<bool>(vertex.compute(arguments...));
  }
}

// compute() of every vertex of a row.
template <class C>
void run(char *state, unsigned long first, unsigned long last, unsigned first_worker, unsigned last_worker,
         volatile Position *at) {
  run_row<C>(state, first, last, first_worker, last_worker, at, [](C &vertex, unsigned worker) {
    if constexpr (__is_base_of(MultiVertex, C)) return done(vertex, worker);
    else return done(vertex);
  });
}

// compute() of one vertex, for a supervisor that runs it on its workers.
template <class C>
void run_code(void *state, unsigned worker) {
  C &vertex = *static_cast<C *>(state);
  if constexpr (__is_base_of(MultiVertex, C)) vertex.compute(worker);
  else vertex.compute();
}

// The same for vertices whose code is a function elsewhere: __runCodelet_NAME(vertex) or, for a MultiVertex,
// __runCodelet_NAME(vertex, workerId).
template <class C>
void run_external(char *state, unsigned long first, unsigned long last, unsigned first_worker, unsigned last_worker,
                  volatile Position *at, void (*function)(void *, unsigned)) {
  run_row<C>(state, first, last, first_worker, last_worker, at, [function](C &vertex, unsigned worker) {
    function(&vertex, worker);
    return true;
  });
}

template <class C>
constexpr bool has_compute(decltype(&C::compute)) {
  return true;
}
template <class C>
constexpr bool has_compute(...) {
  return false;
}

// A candidate: a class that has a base. Does nothing for one that is no vertex.
template <class C>
void run_candidate(char *state, unsigned long first, unsigned long last, unsigned first_worker, unsigned last_worker,
                   volatile Position *at) {
  if constexpr (__is_base_of(Vertex, C)) {
    if constexpr (has_compute<C>(nullptr)) run<C>(state, first, last, first_worker, last_worker, at);
  }
}

using Entry = void (*)(char *, unsigned long, unsigned long, unsigned, unsigned, volatile Position *);
struct NamedEntry {
  const char *name;
  Entry entry;
};

}  // namespace host

template <bool Supervisor>
using SupervisorVertexIf = typename host::VertexOrSupervisor<Supervisor>::type;

}  // namespace poplar
