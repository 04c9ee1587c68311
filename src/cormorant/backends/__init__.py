"""Where the work is done: arrays in, arrays out. Knows nothing of models."""
