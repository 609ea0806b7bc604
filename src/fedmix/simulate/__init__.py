"""Generators of the papers' simulated data."""
