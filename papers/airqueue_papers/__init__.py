"""The five papers rebuilt: what each claims, what we find, and what to think of it.

One module a paper. Its claims are data (``claims/``), stated with their tolerances before anything
is run; its items run scenarios and models of this project, and find a value for each claim; judging
is one pure function for all (`verdict`).

>>> from airqueue_papers import claim
>>> claim.load("http").claims["http.table2.w1"].printed
0.1099
"""
