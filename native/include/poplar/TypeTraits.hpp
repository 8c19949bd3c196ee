// The C++ type of a value that a program gives: its size and kind.
#ifndef poplar_TypeTraits_hpp
#define poplar_TypeTraits_hpp

#include <cstddef>
#include <type_traits>

namespace poplar {

struct TypeTraits {
  std::size_t size;
  std::size_t align;
  bool isFloat;
  bool isSigned;
  bool isBool;
  bool isPointer;

  template <class T> static constexpr bool isSimpleType() { return std::is_arithmetic<T>::value; }

  template <class T> static constexpr TypeTraits make() {
    return {sizeof(T),
            alignof(T),
            std::is_floating_point<T>::value,
            std::is_signed<T>::value,
            std::is_same<T, bool>::value,
            std::is_pointer<T>::value};
  }
};

} // namespace poplar

#endif
