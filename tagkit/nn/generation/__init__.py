"""Sequences from a model that predicts one unit after another: sampling, beam search, scoring.

step           what such a model is here, and the rows of its state
choice         how a unit is chosen, from the model's log probabilities
row_random     random numbers of each row
ended          why a sequence ended
generate       sequences, unit by unit
path_score     log probabilities of given sequences
"""
