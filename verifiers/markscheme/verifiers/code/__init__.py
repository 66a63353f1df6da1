"""Running model-written programs in a jail, and judging them."""
