"""`tensorflow.python.keras.datasets`, which TensorFlow has no longer: MNIST."""
