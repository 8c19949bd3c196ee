"""Devices: the simulated hardware of this computer, and the IPU Model."""
