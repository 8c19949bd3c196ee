"""The steps that products and convolutions share: rearrange operands, compute partial sums, reduce them, repeat in
serial passes."""
