"""APQ: measuring an access point's queue from outside, from plans to verdicts."""
