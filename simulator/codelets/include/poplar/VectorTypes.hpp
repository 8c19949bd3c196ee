// Short vectors of elements, and functions of them element by element.
#pragma once

#include <ipudef.h>
#include <poplar/FieldTypes.hpp>

namespace poplar {
namespace host {

// The vector of a function's results, element by element, for vectors of as many elements.
template <class Result, class Function, class First, class... Others>
Result by_element(Function function, First first, Others... others) {
  Result results{};
  for (unsigned i = 0; i < sizeof(First) / sizeof(first[0]); ++i) results[i] = function(first[i], others[i]...);
  return results;
}

}  // namespace host
}  // namespace poplar
