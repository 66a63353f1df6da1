"""A judge of steps, from a policy to its figures: the parts of ``prm_arithmetic``."""
