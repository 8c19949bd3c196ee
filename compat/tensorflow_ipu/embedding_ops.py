from simulator.frontends.tensorflow.embedding import (
    HostEmbedding,
    HostEmbeddingOptimizerSpec,
    create_host_embedding,
    embedding_lookup,
)
