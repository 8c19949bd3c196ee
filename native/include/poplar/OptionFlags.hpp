#ifndef poplar_OptionFlags_hpp
#define poplar_OptionFlags_hpp

#include <initializer_list>
#include <map>
#include <ostream>
#include <string>
#include <utility>

#include <poplar/StringRef.hpp>
#include <poplar/exceptions.hpp>

namespace poplar {

/// Options by name, all strings: OptionFlags{{"debug.instrument", "true"}}.
class OptionFlags {
  using Flags = std::map<std::string, std::string>;

public:
  using OptionFlag = std::pair<const std::string, std::string>;
  using initializer_list = std::initializer_list<OptionFlag>;
  using iterator = Flags::const_iterator;

  OptionFlags() = default;
  OptionFlags(initializer_list flags) : flags(flags) {}

  void set(initializer_list more) {
    for (const OptionFlag &flag : more)
      flags[flag.first] = flag.second;
  }
  void set(StringRef option, StringRef value) { flags[option.str()] = value.str(); }
  /// The value of an option that was set. Throws invalid_option for others.
  StringRef at(StringRef option) const {
    auto place = flags.find(option.str());
    if (place == flags.end())
      throw invalid_option("Option '" + option.str() + "' is not set.");
    return place->second;
  }
  void clear() { flags.clear(); }
  iterator begin() const { return flags.begin(); }
  iterator end() const { return flags.end(); }
  bool operator==(const OptionFlags &other) const { return flags == other.flags; }
  bool operator!=(const OptionFlags &other) const { return flags != other.flags; }
  bool operator<(const OptionFlags &other) const { return flags < other.flags; }

private:
  Flags flags;
};

inline std::ostream &operator<<(std::ostream &out, const OptionFlags &options) {
  out << '{';
  const char *comma = "";
  for (const OptionFlags::OptionFlag &flag : options) {
    out << comma << '"' << flag.first << "\":\"" << flag.second << '"';
    comma = ",";
  }
  return out << '}';
}

} // namespace poplar

#endif
