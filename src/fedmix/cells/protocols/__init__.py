"""Which protocol printed a table? A search over all that a paper does not report.

The idea is that of multiverse analysis (Steegen et al. 2016) and of specification curves (Simonsohn
et al. 2020): every reasonable protocol is run, and what the printed numbers and claims depend on is
told from all of them. ``space`` reads what is open, ``design`` draws protocols and halves them,
``score`` says how near each comes to the print, ``controls`` how near is near, ``shares`` which
choices matter, and ``words`` writes it down.
"""
