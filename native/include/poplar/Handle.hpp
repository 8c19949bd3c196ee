// What every object of Poplar has inside: a share of one object of the simulator.
//
// Copies share the object, and the last one to die gives it back. A count of shares that needs no lock, so handles may
// be copied and destroyed on any thread.
#ifndef poplar_Handle_hpp
#define poplar_Handle_hpp

#include <memory>
#include <utility>

// Poplar's own headers bring these, and programs rely on it.
#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
#if __cplusplus >= 201703L
#include <optional>
#endif

#ifndef __linux__
#error "C++ programs for the simulator need Linux; there is no library for macOS and Windows."
#endif
#ifdef _LIBCPP_VERSION
#error "The library is built with libstdc++; compile without -stdlib=libc++."
#endif

namespace poplar {
namespace bridge {

class Handle {
public:
  Handle() = default;
  explicit Handle(std::shared_ptr<void> shared) : object(std::move(shared)) {}
  const std::shared_ptr<void> &share() const { return object; }
  void share(std::shared_ptr<void> other) { object = std::move(other); }

private:
  std::shared_ptr<void> object;
};

/// Whether the simulator says that two objects are equal.
bool equal(const Handle &a, const Handle &b); // src/values.cpp
/// The simulator's hash of an object.
std::size_t hash(const Handle &a); // src/values.cpp

} // namespace bridge
} // namespace poplar

#endif
