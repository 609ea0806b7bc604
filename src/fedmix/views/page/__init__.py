"""The pages that a reader opens: the scorecard, and a page for each published table."""
