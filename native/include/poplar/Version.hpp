#ifndef poplar_Version_hpp
#define poplar_Version_hpp

#include <string>

namespace poplar {

/// The version of Poplar whose API this is, and that of the package that gives it.
std::string versionString();
/// A digest of the simulator: executables of another one are compiled again.
std::string packageHash();

} // namespace poplar

#endif
