"""What every other room of the simulator may use: element types, errors, regions, overloads, targets."""
