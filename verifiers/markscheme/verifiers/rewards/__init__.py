"""Reward functions for TRL, verl and OpenRLHF."""
