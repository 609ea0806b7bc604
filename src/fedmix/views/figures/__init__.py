"""Figures of the papers, drawn from results in one style."""
