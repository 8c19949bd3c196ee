"""Sweeps of many points, and folders of many reports."""
