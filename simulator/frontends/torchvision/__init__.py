"""Stand-in for torchvision's transforms, models and MNIST data sets, where no torchvision fits PyTorch.
`compat/torchvision` gives it torchvision's name, unless a real one imports."""
