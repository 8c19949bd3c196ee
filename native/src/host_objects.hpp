#ifndef popvision_host_objects_hpp
#define popvision_host_objects_hpp

#include "tables.hpp"

namespace poplar {
namespace bridge {

/// Callbacks as objects of Python, which keep them alive.
py::object callback_object(StreamCallbackHandle handle);
py::object callback_object(HostCallbackHandle handle);

} // namespace bridge
} // namespace poplar

#endif
