"""The temperature of a head: how far its scores are trusted when they become probabilities.

A network that is trained to the end gives its answers too high a probability. Guo et al. 2017
divide all scores by one number T, fitted on labelled data that the network has not learnt from:

    p(y | x) = softmax(score(y) / T)

which leaves the order of all answers as it is. For a chain the scores of whole paths are divided:
emissions, transitions, starts and ends alike.

A temperature is no weight: it is not in a model's `state_dict`, and training neither uses nor
changes it. Heads keep it as their attribute `temperature`.
"""

UNCALIBRATED = 1.0  # probabilities as the network gives them
