#ifndef popvision_host_objects_hpp
#define popvision_host_objects_hpp

#include "tables_popops.hpp"

namespace poplar {
namespace bridge {

/// Callbacks as objects of Python, which keep them alive.
py::object callback_object(StreamCallbackHandle handle);
py::object callback_object(HostCallbackHandle handle);
py::object callback_object(std::function<std::string(const VertexEdgeInfo &)> value, const TypeTraits &traits);

} // namespace bridge
} // namespace poplar

#endif
