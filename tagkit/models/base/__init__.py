"""What every task is made of: the interface, the model, its folder, its description."""
