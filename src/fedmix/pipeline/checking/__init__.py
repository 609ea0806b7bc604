"""Checks that no schema can do: whether the names and values of the configuration match.

Each function yields messages that start with the file and the line.
"""
