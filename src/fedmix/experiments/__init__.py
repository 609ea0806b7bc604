"""Experiments: each makes problems of one kind and scores a method on them."""
