"""Uploads of several stations at once: are the AIFS, windows and TXOP limits that were set obeyed?

The stations of an access point send to a server behind it in stated access categories
(`airqueue.measure.together`). `plans` lays the runs out, `method` carries them out; `accesses` finds
the channel accesses in the arrivals, `ratios` compares stations, `txop` measures bursts, and
`verdict` judges: pure functions of records, beside what `settings` predicts.
"""
