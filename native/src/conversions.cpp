// Conversions between numbers of the host and bytes of the device.
#include "tables_poplar.hpp"

#include <cstring>
#include <pybind11/numpy.h>

namespace poplar {
namespace bridge {
namespace {

Place convert_to{"simulator.poplar", "convertToDeviceType"}, convert_from{"simulator.poplar", "convertFromDeviceType"};

/// The program's own memory as an array.
py::object memory_object(void *data, const TypeTraits &traits, std::size_t count) {
  const py::array values = array_object(nullptr, traits, 0);
  return py::array(values.dtype(), {static_cast<py::ssize_t>(count)}, {}, data, py::none());
}

} // namespace

void to_device(const Type &type, const QuarterMetadata *metadata, const void *src, const TypeTraits &traits,
               std::size_t count, void *dst, bool nanOnOverflow) {
  locked([&] {
    const py::object numbers = array_object(src, traits, count);
    const py::array bytes = metadata ? call(convert_to.get(), type, *metadata, numbers, py::object(py::none()),
                                            nanOnOverflow)
                                     : call(convert_to.get(), type, numbers, py::object(py::none()), nanOnOverflow);
    std::memcpy(dst, bytes.data(), static_cast<std::size_t>(bytes.nbytes()));
  });
}

void from_device(const Type &type, const QuarterMetadata *metadata, const void *src, void *dst,
                 const TypeTraits &traits, std::size_t count) {
  locked([&] {
    const std::size_t size = count * Convert<std::size_t>::from(to(type).attr("size"));
    const py::object bytes = array_object(src, TypeTraits::make<unsigned char>(), size);
    const py::object numbers = memory_object(dst, traits, count);
    metadata ? call(convert_from.get(), type, *metadata, bytes, numbers)
             : call(convert_from.get(), type, bytes, numbers);
  });
}

} // namespace bridge

void copyFloatToDeviceHalf(const Target &, const float *src, void *dst, std::size_t numElements) {
  bridge::to_device(HALF, nullptr, src, TypeTraits::make<float>(), numElements, dst, false);
}

void copyDoubleToDeviceHalf(const Target &, const double *src, void *dst, std::size_t numElements) {
  bridge::to_device(HALF, nullptr, src, TypeTraits::make<double>(), numElements, dst, false);
}

void copyDeviceHalfToFloat(const Target &, const void *src, float *dst, std::size_t numElements) {
  bridge::from_device(HALF, nullptr, src, dst, TypeTraits::make<float>(), numElements);
}

void copyDeviceHalfToDouble(const Target &, const void *src, double *dst, std::size_t numElements) {
  bridge::from_device(HALF, nullptr, src, dst, TypeTraits::make<double>(), numElements);
}

} // namespace poplar
