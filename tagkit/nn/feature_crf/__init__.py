"""The CRF of word features: blocks of features, its fit, clusters of vectors."""
