#ifndef poputil_VertexTemplates_hpp
#define poputil_VertexTemplates_hpp

#include <string>

#include <poplar/Type.hpp>

namespace poputil {

inline std::string templateArgument(const poplar::Type &type) { return type.toString(); }
inline std::string templateArgument(bool value) { return value ? "true" : "false"; }
inline std::string templateArgument(const char *text) { return text; }
inline std::string templateArgument(const std::string &text) { return text; }
template <class T> std::string templateArgument(const T &number) { return std::to_string(number); }

inline std::string templateArguments() { return ""; }
template <class T, class... Rest> std::string templateArguments(const T &first, const Rest &...rest) {
  return templateArgument(first) + (sizeof...(Rest) ? "," : "") + templateArguments(rest...);
}

/// Template arguments in angle brackets, without the opening one where they are not the first.
template <class... T> std::string templateVertexParams(bool first, const T &...arguments) {
  return sizeof...(T) ? (first ? "<" : ",") + templateArguments(arguments...) + ">" : first ? "" : ">";
}

/// The name of a vertex with its template's arguments: templateVertex("Sum", poplar::FLOAT, true) is Sum<float,true>.
template <class... T> std::string templateVertex(const std::string &name, const T &...arguments) {
  return name + templateVertexParams(true, arguments...);
}

} // namespace poputil

#endif
