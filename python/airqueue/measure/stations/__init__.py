"""How an access point divides itself among stations: one queue or several, and whose shares.

The downloads of several stations at once are measured in one session with a server beyond the
access point (`airqueue.measure.together`). `plans` lays the runs out, `method` carries them out,
and `verdict` judges the records: pure functions, as all of the method.
"""
