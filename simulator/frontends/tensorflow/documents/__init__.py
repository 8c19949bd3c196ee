"""Parts of docs/tensorflow.md that are written from tables."""
