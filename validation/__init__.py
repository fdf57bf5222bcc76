"""Validity of each model: `python -m validation` compares models with independent references, and
writes docs/validation.md with its figures.

A `Claim` states where a model holds and how closely; the page shows whether it does. A file here has
the claims about one subject, and a line in `__main__.subjects`.
"""
