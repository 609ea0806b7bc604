"""Experiments: how one replication of a setting is made, run and scored."""
