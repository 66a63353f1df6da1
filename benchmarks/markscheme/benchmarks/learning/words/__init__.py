"""Word problems of one and two steps: templates, exact checks of steps, and a small real model that learns them."""
