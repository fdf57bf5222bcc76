"""Where each model holds: `python -m validation` compares models with references that know nothing
of them, and writes docs/validation.md with its figures.

A `Claim` states where a model holds and how closely; the page shows whether it does. A file here has
the claims about one subject, and a line in `__main__.subjects`.
"""
