// Numbers of the host to and from the bytes of the device's types.
#ifndef poplar_TypeConversion_hpp
#define poplar_TypeConversion_hpp

#include <poplar/ArrayRef.hpp>
#include <poplar/Quarter.hpp>
#include <poplar/Target.hpp>
#include <poplar/TypeTraits.hpp>

namespace poplar {

namespace bridge {
/// `metadata` is null for a type that has none.
void to_device(const Type &type, const QuarterMetadata *metadata, const void *src, const TypeTraits &traits,
               std::size_t count, void *dst, bool nanOnOverflow); // src/conversions.cpp
void from_device(const Type &type, const QuarterMetadata *metadata, const void *src, void *dst,
                 const TypeTraits &traits, std::size_t count); // src/conversions.cpp
} // namespace bridge

/// Numbers as bytes of a type. HALF and QUARTER numbers out of range become the largest, or NaN with `nanOnOverflow`.
template <class T>
void convertToDeviceType(const Type &dstType, gccs::ArrayRef<T> src, void *dst, bool nanOnOverflow = false) {
  bridge::to_device(dstType, nullptr, src.data(), TypeTraits::make<T>(), src.size(), dst, nanOnOverflow);
}
template <class T>
void convertToDeviceType(const Type &dstType, const QuarterMetadata &metadata, gccs::ArrayRef<T> src, void *dst,
                         bool nanOnOverflow = false) {
  bridge::to_device(dstType, &metadata, src.data(), TypeTraits::make<T>(), src.size(), dst, nanOnOverflow);
}
/// Bytes of a type as numbers.
template <class T> void convertFromDeviceType(const Type &srcType, const void *src, gccs::ArrayRef<T> dst) {
  bridge::from_device(srcType, nullptr, src, const_cast<T *>(dst.data()), TypeTraits::make<T>(), dst.size());
}
template <class T>
void convertFromDeviceType(const Type &srcType, const QuarterMetadata &metadata, const void *src,
                           gccs::ArrayRef<T> dst) {
  bridge::from_device(srcType, &metadata, src, const_cast<T *>(dst.data()), TypeTraits::make<T>(), dst.size());
}

void copyFloatToDeviceHalf(const Target &target, const float *src, void *dst,
                           std::size_t numElements); // src/conversions.cpp
void copyDoubleToDeviceHalf(const Target &target, const double *src, void *dst,
                            std::size_t numElements); // src/conversions.cpp
void copyDeviceHalfToFloat(const Target &target, const void *src, float *dst,
                           std::size_t numElements); // src/conversions.cpp
void copyDeviceHalfToDouble(const Target &target, const void *src, double *dst,
                            std::size_t numElements); // src/conversions.cpp

} // namespace poplar

#endif
