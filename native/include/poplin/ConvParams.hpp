#ifndef poplin_ConvParams_hpp
#define poplin_ConvParams_hpp

#include <cstddef>
#include <iosfwd>
#include <utility>
#include <vector>

#include <poplar/Type.hpp>

namespace poplin {

/// The shape of a convolution; channels are those of one group. What is done to the input, the kernel and the output has
/// one entry for each dimension of the field, or none. Raises poplar_error for sizes that no convolution can have.
struct ConvParams {
  /// What is done to the input or the kernel, in this order: cut, dilate with zeros, pad with zeros, flip.
  struct InputTransform {
    InputTransform() = default;
    InputTransform(const std::size_t size)
        : truncationLower(size, 0), truncationUpper(size, 0), dilation(size, 1), paddingLower(size, 0),
          paddingUpper(size, 0), flip(size, false) {}
    InputTransform(std::vector<unsigned> truncationLower, std::vector<unsigned> truncationUpper,
                   std::vector<unsigned> dilation, std::vector<unsigned> paddingLower,
                   std::vector<unsigned> paddingUpper, std::vector<bool> flip)
        : truncationLower(std::move(truncationLower)), truncationUpper(std::move(truncationUpper)),
          dilation(std::move(dilation)), paddingLower(std::move(paddingLower)), paddingUpper(std::move(paddingUpper)),
          flip(std::move(flip)) {}

    std::vector<unsigned> truncationLower;
    std::vector<unsigned> truncationUpper;
    std::vector<unsigned> dilation;
    std::vector<unsigned> paddingLower;
    std::vector<unsigned> paddingUpper;
    std::vector<bool> flip;
  };

  /// What is done to the output, in this order: cut, take every stride-th element, pad with zeros.
  struct OutputTransform {
    OutputTransform() = default;
    OutputTransform(const std::size_t size)
        : truncationLower(size, 0), truncationUpper(size, 0), stride(size, 1), paddingLower(size, 0),
          paddingUpper(size, 0) {}
    OutputTransform(std::vector<unsigned> truncationLower, std::vector<unsigned> truncationUpper,
                    std::vector<unsigned> striding, std::vector<unsigned> paddingLower,
                    std::vector<unsigned> paddingUpper)
        : truncationLower(std::move(truncationLower)), truncationUpper(std::move(truncationUpper)),
          stride(std::move(striding)), paddingLower(std::move(paddingLower)), paddingUpper(std::move(paddingUpper)) {}

    std::vector<unsigned> truncationLower;
    std::vector<unsigned> truncationUpper;
    std::vector<unsigned> stride;
    std::vector<unsigned> paddingLower;
    std::vector<unsigned> paddingUpper;
  };

  ConvParams() = default;
  ConvParams(poplar::Type dataType, std::size_t batchSize, std::vector<std::size_t> inputFieldShape,
             std::vector<std::size_t> kernelShape, std::size_t inputChannels, std::size_t outputChannels,
             std::size_t numConvGroups)
      : ConvParams(dataType, dataType, batchSize, std::move(inputFieldShape), std::move(kernelShape), inputChannels,
                   outputChannels, numConvGroups) {}
  ConvParams(poplar::Type inputType, poplar::Type outputType, std::size_t batchSize,
             std::vector<std::size_t> inputFieldShape, std::vector<std::size_t> kernelShape, std::size_t inputChannels,
             std::size_t outputChannels, std::size_t numConvGroups)
      : ConvParams(inputType, outputType, batchSize, inputFieldShape, std::move(kernelShape), inputChannels,
                   outputChannels, numConvGroups, InputTransform(inputFieldShape.size()),
                   InputTransform(inputFieldShape.size()), OutputTransform(inputFieldShape.size())) {}
  ConvParams(poplar::Type inputType, poplar::Type outputType, std::size_t batchSize,
             std::vector<std::size_t> inputFieldShape, std::vector<std::size_t> kernelShape, std::size_t inputChannels,
             std::size_t outputChannels, std::size_t numConvGroups, InputTransform inputTransform,
             InputTransform kernelTransform, OutputTransform outputTransform)
      : inputType(inputType), outputType(outputType), batchSize(batchSize),
        inputFieldShape(std::move(inputFieldShape)), kernelShape(std::move(kernelShape)),
        inputChannelsPerConvGroup(inputChannels), outputChannelsPerConvGroup(outputChannels),
        numConvGroups(numConvGroups), inputTransform(std::move(inputTransform)),
        kernelTransform(std::move(kernelTransform)), outputTransform(std::move(outputTransform)) {
    validate();
  }

  poplar::Type inputType;
  poplar::Type outputType;
  std::size_t batchSize = 0;
  std::vector<std::size_t> inputFieldShape;
  std::vector<std::size_t> kernelShape;
  std::size_t inputChannelsPerConvGroup = 0;
  std::size_t outputChannelsPerConvGroup = 0;
  std::size_t numConvGroups = 0;
  InputTransform inputTransform;
  InputTransform kernelTransform;
  OutputTransform outputTransform;

  /// Sizes of one dimension of the field: of the output before and after it is cut, strided and padded, of the input, and
  /// of the input and the kernel after they are cut and after all that is done to them.
  std::size_t getUntransformedOutputSize(unsigned dim) const;
  std::size_t getOutputSize(unsigned dim) const;
  std::size_t getInputSize(unsigned dim) const;
  unsigned getTruncatedInputSize(unsigned dim) const;
  unsigned getTruncatedKernelSize(unsigned dim) const;
  unsigned getTransformedInputSize(unsigned dim) const;
  unsigned getTransformedKernelSize(unsigned dim) const;
  std::vector<std::size_t> getOutputFieldShape() const;
  std::size_t getNumOutputChansPerConvGroup() const;
  std::size_t getNumOutputChans() const;
  std::size_t getNumInputChansPerConvGroup() const;
  std::size_t getNumInputChans() const;
  std::size_t getNumConvGroups() const;
  std::size_t getNumFieldDims() const;
  std::size_t getBatchSize() const;
  /// Raises poplar_error for sizes that no convolution can have.
  void validate() const;
};

bool operator<(const ConvParams::InputTransform &a, const ConvParams::InputTransform &b);
bool operator==(const ConvParams::InputTransform &a, const ConvParams::InputTransform &b);
bool operator!=(const ConvParams::InputTransform &a, const ConvParams::InputTransform &b);
bool operator<(const ConvParams::OutputTransform &a, const ConvParams::OutputTransform &b);
bool operator==(const ConvParams::OutputTransform &a, const ConvParams::OutputTransform &b);
bool operator!=(const ConvParams::OutputTransform &a, const ConvParams::OutputTransform &b);
bool operator<(const ConvParams &a, const ConvParams &b);
bool operator==(const ConvParams &a, const ConvParams &b);
bool operator!=(const ConvParams &a, const ConvParams &b);
std::ostream &operator<<(std::ostream &out, const ConvParams &params);

} // namespace poplin

#endif
