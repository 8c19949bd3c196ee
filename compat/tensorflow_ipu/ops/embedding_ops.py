from simulator.frontends.tensorflow.embedding import embedding_lookup
from simulator.frontends.tensorflow.refused_names import (
    HostEmbedding,
    HostEmbeddingOptimizerSpec,
    create_host_embedding,
)
