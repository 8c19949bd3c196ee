#ifndef poplin_ConvUtil_hpp
#define poplin_ConvUtil_hpp

#include <poplin/ConvParams.hpp>

namespace poplin {

/// The convolution that gives the gradient of the input from that of the output.
ConvParams getGradientParams(const ConvParams &params);

} // namespace poplin

#endif
