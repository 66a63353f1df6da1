"""What a policy makes of a learned judge of steps, where the truth of every step is known."""
