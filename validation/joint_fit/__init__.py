"""One search for what the MESH paper does not print, over all its tables of ns-2 together.

`python -m validation.joint_fit` simulates Tables 3, 4, 6, 8 and 9 with settings drawn from
``parameters.toml``, looks for the setting that comes nearest to half of the cells, and tells how near
it comes to the other half. ``evaluated.csv`` has every setting with all cells, and
docs/reproduction.md the outcome.
"""
