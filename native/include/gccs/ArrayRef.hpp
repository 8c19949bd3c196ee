// gccs::ArrayRef: a view of values that stand one after another in memory.
//
// It owns nothing: what it was made from has to live as long as it is used. Functions take one where a program may have
// a vector, an array, a pointer with a length or a list in braces.
#ifndef gccs_ArrayRef_hpp
#define gccs_ArrayRef_hpp

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace gccs {

template <class T> class ArrayRef {
public:
  using value_type = T;
  using size_type = std::size_t;
  using const_iterator = const T *;
  using iterator = const T *;

  ArrayRef() = default;
  ArrayRef(const T *data, std::size_t size) : first(data), count(size) {}
  ArrayRef(const T *begin, const T *end) : first(begin), count(end - begin) {}
#if __GNUC__ >= 9 && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winit-list-lifetime" // a list in braces lives as long as the call that takes it
#endif
  ArrayRef(std::initializer_list<T> values) : first(values.begin()), count(values.size()) {}
#if __GNUC__ >= 9 && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
  template <class A> ArrayRef(const std::vector<T, A> &values) : first(values.data()), count(values.size()) {}
  template <std::size_t N> ArrayRef(const std::array<T, N> &values) : first(values.data()), count(N) {}
  template <std::size_t N> ArrayRef(const T (&values)[N]) : first(values), count(N) {}

  const T *begin() const { return first; }
  const T *end() const { return first + count; }
  const T *cbegin() const { return begin(); }
  const T *cend() const { return end(); }
  const T *data() const { return first; }
  std::size_t size() const { return count; }
  bool empty() const { return count == 0; }
  const T &operator[](std::size_t i) const { return first[i]; }
  const T &front() const { return first[0]; }
  const T &back() const { return first[count - 1]; }
  std::vector<T> cloneAsVector() const { return std::vector<T>(begin(), end()); }
  explicit operator std::vector<T>() const { return cloneAsVector(); }

private:
  const T *first = nullptr;
  std::size_t count = 0;
};

template <class T> bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  if (a.size() != b.size())
    return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(a[i] == b[i]))
      return false;
  return true;
}
template <class T> bool operator!=(ArrayRef<T> a, ArrayRef<T> b) { return !(a == b); }

} // namespace gccs

#endif
