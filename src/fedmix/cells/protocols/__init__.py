"""Which protocol printed a table? A search over all that a paper does not report.

The idea is that of multiverse analysis (Steegen et al. 2016) and of specification curves (Simonsohn
et al. 2020): every reasonable protocol is run, and all of them show what
the published values and the claims depend on. ``space`` reads what is open, ``design`` draws
protocols and halves them, ``score`` measures how near each comes to the published values,
``controls`` how near chance comes, ``shares`` which
choices matter, and ``words`` writes it down.
"""
