"""APQ: the queue of an access point measured from outside, from plans to verdicts."""
