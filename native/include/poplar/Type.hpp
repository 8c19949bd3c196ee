// Types of the elements of tensors: plain values, which need nothing to be running.
#ifndef poplar_Type_hpp
#define poplar_Type_hpp

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>

#include <poplar/StringRef.hpp>

namespace poplar {

class Type {
public:
  constexpr Type() : place(0) {}
  constexpr explicit Type(unsigned char place) : place(place) {}
  /// Its place in the simulator's list of types; 0 is no type.
  constexpr unsigned char index() const { return place; }
  /// The name of the type in codelets, for example "unsigned int".
  StringRef toString() const; // src/values.cpp
  bool requiresMetadata() const; // src/values.cpp
  bool isFloatingPoint() const; // src/values.cpp
  std::size_t hash() const { return place; }

private:
  unsigned char place;
};

constexpr bool operator==(Type a, Type b) { return a.index() == b.index(); }
constexpr bool operator!=(Type a, Type b) { return a.index() != b.index(); }
constexpr bool operator<(Type a, Type b) { return a.index() < b.index(); }
inline std::ostream &operator<<(std::ostream &out, const Type &type) { return out << type.toString(); }

extern const Type BOOL;
extern const Type CHAR;
extern const Type UNSIGNED_CHAR;
extern const Type SIGNED_CHAR;
extern const Type UNSIGNED_SHORT;
extern const Type SHORT;
extern const Type UNSIGNED_INT;
extern const Type INT;
extern const Type UNSIGNED_LONGLONG;
extern const Type LONGLONG;
extern const Type QUARTER;
extern const Type HALF;
extern const Type FLOAT;
extern const Type QUARTER_METADATA;

/// The type of tensors whose elements are a C++ type: equivalent_device_type<float>().value is FLOAT.
template <class T> struct equivalent_device_type;
template <> struct equivalent_device_type<bool> { const Type &value = BOOL; };
template <> struct equivalent_device_type<char> { const Type &value = CHAR; };
template <> struct equivalent_device_type<signed char> { const Type &value = SIGNED_CHAR; };
template <> struct equivalent_device_type<unsigned char> { const Type &value = UNSIGNED_CHAR; };
template <> struct equivalent_device_type<short> { const Type &value = SHORT; };
template <> struct equivalent_device_type<unsigned short> { const Type &value = UNSIGNED_SHORT; };
template <> struct equivalent_device_type<int> { const Type &value = INT; };
template <> struct equivalent_device_type<unsigned> { const Type &value = UNSIGNED_INT; };
template <> struct equivalent_device_type<long long> { const Type &value = LONGLONG; };
template <> struct equivalent_device_type<unsigned long long> { const Type &value = UNSIGNED_LONGLONG; };
template <> struct equivalent_device_type<float> { const Type &value = FLOAT; };

} // namespace poplar

namespace std {
template <> struct hash<poplar::Type> {
  std::size_t operator()(const poplar::Type &type) const { return type.hash(); }
};
} // namespace std

#endif
