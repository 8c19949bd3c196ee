#ifndef poplin_ConvPreplan_hpp
#define poplin_ConvPreplan_hpp

#include <set>

#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>

namespace poplin {

/// Plan convolutions and products ahead, into a cache.
void preplan(const std::set<ConvPlanParams> &convs, const std::set<MatMulPlanParams> &matmuls, PlanningCache &cache);

} // namespace poplin

#endif
