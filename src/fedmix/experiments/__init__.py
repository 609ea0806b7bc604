"""The experiments. Each generates problems of one kind and scores a method on them."""
