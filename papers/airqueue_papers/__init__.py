"""Reproduces six papers: their claims, our results, and a verdict on each claim.

Each paper has a module. Its claims are data (``claims/``), stated with their tolerances before any
run; its items run scenarios and models of this project, and find a value for each claim. One pure
function judges all claims (`verdict`).

>>> from airqueue_papers import claim
>>> claim.load("http").claims["http.table2.w1"].printed
0.1099
"""
