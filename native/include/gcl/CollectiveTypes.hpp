#ifndef gcl_CollectiveTypes_hpp
#define gcl_CollectiveTypes_hpp

namespace gcl {

/// How collectives combine what replicas give.
enum class CollectiveOperator { ADD, MEAN, MUL, MIN, MAX, LOGICAL_AND, LOGICAL_OR, SQUARE_ADD };

/// How replicas form groups: all of them one, blocks of neighbours, or every n-th replica.
enum class CommGroupType { ALL, CONSECUTIVE, ORTHOGONAL };

/// Groups of so many replicas, which ALL leaves out of account.
struct CommGroup {
  CommGroup() : type(CommGroupType::ALL), replicaGroupSize(0) {}
  CommGroup(const CommGroupType &type, unsigned replicaGroupSize) : type(type), replicaGroupSize(replicaGroupSize) {}

  CommGroupType type;
  unsigned replicaGroupSize;
};

} // namespace gcl

#endif
