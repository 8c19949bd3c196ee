// Names, parents and source lines of what a program makes.
//
// SourceLocation::Current() stands in default arguments, which the compiler evaluates where the user's call is, so
// reports show the user's file and line.
#ifndef poplar_DebugContext_hpp
#define poplar_DebugContext_hpp

#include <memory>
#include <string>
#include <type_traits>

#include <poplar/Handle.hpp>
#include <poplar/StringRef.hpp>

namespace poplar {

class SourceLocation {
public:
  SourceLocation() = default;
  SourceLocation(StringRef functionName, StringRef fileName, unsigned lineNumber)
      : function(functionName.data()), file(fileName.data()), line(lineNumber) {}
  StringRef getFunctionName() const { return function; }
  StringRef getFileName() const { return file; }
  unsigned getLineNumber() const { return line; }
  bool isValid() const { return line != 0; }
  static SourceLocation Current(const char *functionName = __builtin_FUNCTION(),
                                const char *fileName = __builtin_FILE(), unsigned lineNumber = __builtin_LINE()) {
    return SourceLocation(functionName, fileName, lineNumber);
  }

private:
  const char *function = "";
  const char *file = "";
  unsigned line = 0;
};

class DebugContext;

/// A record of a graph below which others can stand.
class DebugInfo : public bridge::Handle {
public:
  using bridge::Handle::Handle;
  std::string getPathName() const;
  /// Store a value in the record, which debug.json shows among its arguments.
  void setValue(StringRef name, const std::string &value);
  void setValue(StringRef name, double value);
};

/// A name below a record.
class DebugNameAndId {
public:
  DebugNameAndId(std::string name = "", DebugInfo parent = {}) : name(std::move(name)), parent(std::move(parent)) {}
  DebugNameAndId(const char *name) : name(name) {}
  DebugNameAndId(const DebugInfo &parent, std::string name = "") : name(std::move(name)), parent(parent) {}
  DebugNameAndId(const DebugNameAndId &above, StringRef below)
      : name(joined(above.name, below.str())), parent(above.parent) {}
  const std::string &getName() const { return name; }
  const DebugInfo &getParent() const { return parent; }
  std::string getPathName() const {
    return joined(parent.share() ? parent.getPathName() : std::string(), name);
  }

private:
  static std::string joined(const std::string &above, const std::string &below) {
    return above.empty() ? below : below.empty() ? above : above + "/" + below;
  }

  std::string name;
  DebugInfo parent;
};

/// The name of what is made, the record that it belongs to and the place in the program that makes it.
class DebugContext {
public:
  DebugContext(SourceLocation loc = SourceLocation::Current()) : location(loc) {}
  DebugContext(const char *name, SourceLocation loc = SourceLocation::Current()) : named(name), location(loc) {}
  DebugContext(StringRef name, SourceLocation loc = SourceLocation::Current()) : named(name.str()), location(loc) {}
  DebugContext(std::string name, SourceLocation loc = SourceLocation::Current())
      : named(std::move(name)), location(loc) {}
  DebugContext(const DebugInfo &parent, std::string name = "", SourceLocation loc = SourceLocation::Current())
      : named(parent, std::move(name)), location(loc) {}
  DebugContext(const DebugNameAndId &above, std::string name = "", SourceLocation loc = SourceLocation::Current())
      : named(above, name), location(loc) {}
  /// A name below that of another context: {debugContext, "name"}. No conversion, or lists of two texts would be two.
  template <class T, class = typename std::enable_if<std::is_same<T, DebugContext>::value>::type>
  DebugContext(const T &above, std::string name, SourceLocation loc = SourceLocation::Current())
      : named(above.named, name), location(loc) {}

  const DebugNameAndId &getNameAndId() const { return named; }
  const SourceLocation &getLocation() const { return location; }
  std::string getPathName() const { return named.getPathName(); }

private:
  DebugNameAndId named;
  SourceLocation location;
};

} // namespace poplar

#endif
