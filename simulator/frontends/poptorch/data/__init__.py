"""Loading of data: PopTorch's DataLoader and what reads ahead in another process."""
