#ifndef popops_Operation_hpp
#define popops_Operation_hpp

namespace popops {

enum class Operation { ADD, SQUARE_ADD, MUL, MIN, MAX, LOGICAL_AND, LOGICAL_OR, LOG_ADD };

} // namespace popops

#endif
