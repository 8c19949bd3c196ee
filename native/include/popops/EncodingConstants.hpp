#ifndef popops_EncodingConstants_hpp
#define popops_EncodingConstants_hpp

/// The label of what is to be left out: one-hot rows of zeros, losses of 0.
#define MASKED_LABEL_CODE 0xffffffffu

#endif
