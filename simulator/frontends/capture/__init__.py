"""Capture: a torch module becomes a program of operators."""
