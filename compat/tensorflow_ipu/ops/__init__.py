from . import custom_ops, embedding_ops, pipelining_ops
