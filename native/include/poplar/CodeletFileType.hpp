#ifndef poplar_CodeletFileType_hpp
#define poplar_CodeletFileType_hpp
#include <poplar/Enumerations.hpp>
#endif
