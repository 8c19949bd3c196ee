#ifndef poputil_exceptions_hpp
#define poputil_exceptions_hpp

#include <poplar/exceptions.hpp>

namespace poputil {

struct POPLAR_API poplibs_error : std::runtime_error {
  explicit poplibs_error(const std::string &what) : std::runtime_error(what) {}
  ~poplibs_error() override;
};

} // namespace poputil

#endif
