"""The class Graph: what a program calls to build a graph."""
