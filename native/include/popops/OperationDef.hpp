#ifndef popops_OperationDef_hpp
#define popops_OperationDef_hpp
#include <popops/Operation.hpp>
#endif
