"""Suites that load public data sets, and benchmarks that print what they measured."""
