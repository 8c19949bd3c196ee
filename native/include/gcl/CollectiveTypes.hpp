#ifndef gcl_CollectiveTypes_hpp
#define gcl_CollectiveTypes_hpp

namespace gcl {

/// How collectives combine what replicas give.
enum class CollectiveOperator { ADD, MEAN, MUL, MIN, MAX, LOGICAL_AND, LOGICAL_OR, SQUARE_ADD };

} // namespace gcl

#endif
