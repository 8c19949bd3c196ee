#ifndef poplar_Interval_hpp
#define poplar_Interval_hpp

#include <cstddef>
#include <ostream>

namespace poplar {

/// Elements from `begin` up to, not including, `end`.
class Interval {
public:
  Interval() = default;
  Interval(std::size_t begin, std::size_t end) : lower(begin), upper(end) {}
  std::size_t begin() const { return lower; }
  std::size_t end() const { return upper; }
  std::size_t size() const { return upper - lower; }
  std::size_t lower_bound() const { return lower; }
  std::size_t upper_bound() const { return upper; }

private:
  std::size_t lower = 0;
  std::size_t upper = 0;
};

inline bool operator==(const Interval &a, const Interval &b) { return a.begin() == b.begin() && a.end() == b.end(); }
inline bool operator!=(const Interval &a, const Interval &b) { return !(a == b); }
inline bool operator<(const Interval &a, const Interval &b) {
  return a.begin() != b.begin() ? a.begin() < b.begin() : a.end() < b.end();
}
inline std::ostream &operator<<(std::ostream &out, const Interval &interval) {
  return out << '[' << interval.begin() << ',' << interval.end() << ')';
}

} // namespace poplar

#endif
