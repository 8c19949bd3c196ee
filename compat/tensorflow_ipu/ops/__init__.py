from . import cross_replica_ops, custom_ops, embedding_ops, pipelining_ops
