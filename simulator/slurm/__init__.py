"""Slurm: the option --ipus=N (a SPANK plugin in C), the files of a pod, and a pod of simulated IPUs on one machine."""
