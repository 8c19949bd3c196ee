#ifndef popnn_PoolingDef_hpp
#define popnn_PoolingDef_hpp

namespace popnn {

enum class PoolingType { MAX, AVG, SUM };

} // namespace popnn

#endif
