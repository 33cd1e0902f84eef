"""What recurrent cells are made of: initial weights, loops over time, kernels."""
