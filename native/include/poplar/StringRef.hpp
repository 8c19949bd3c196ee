// poplar::StringRef: a view of characters; it owns nothing.
#ifndef poplar_StringRef_hpp
#define poplar_StringRef_hpp

#include <cstddef>
#include <cstring>
#include <ostream>
#include <string>

namespace poplar {

class StringRef {
public:
  StringRef() = default;
  StringRef(const char *text) : first(text), count(text ? std::strlen(text) : 0) {}
  StringRef(const char *text, std::size_t size) : first(text), count(size) {}
  StringRef(const std::string &text) : first(text.data()), count(text.size()) {}

  const char *data() const { return first; }
  const char *begin() const { return first; }
  const char *end() const { return first + count; }
  std::size_t size() const { return count; }
  bool empty() const { return count == 0; }
  char operator[](std::size_t i) const { return first[i]; }
  std::string str() const { return count ? std::string(first, count) : std::string(); }
  std::string cloneAsString() const { return str(); }
  operator std::string() const { return str(); }

private:
  const char *first = "";
  std::size_t count = 0;
};

inline bool operator==(StringRef a, StringRef b) { return a.str() == b.str(); }
inline bool operator!=(StringRef a, StringRef b) { return !(a == b); }
inline bool operator<(StringRef a, StringRef b) { return a.str() < b.str(); }
inline std::string operator+(const std::string &a, StringRef b) { return a + b.str(); }
inline std::ostream &operator<<(std::ostream &out, StringRef text) { return out.write(text.data(), text.size()); }

} // namespace poplar

#endif
