"""What no schema can see: whether the configuration's names and values fit one another.

Each function yields messages that begin with the file and the line.
"""
