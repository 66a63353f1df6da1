"""Benchmarks of speed and verdicts, each beside a peer in the same run."""
