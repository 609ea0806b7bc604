"""Which protocol gave a table? A search over all that a paper does not report.

In how many reasonable protocols does a claim hold? Protocols are drawn by stated weights and all
run (``running``), as in multiverse analysis (Steegen et al. 2016) and specification curves
(Simonsohn et al. 2020). Is there one that gives the table? An optimiser looks for it on every other
row (also there), and fresh replications of all rows judge it. ``choices`` and ``space`` read what
is open, ``score`` measures how near a protocol comes, ``findings`` say which choices matter and how
much the scores mean, and ``kept`` has what the evidence keeps.
"""
