"""Closed-form models of 802.11 cells, their queues and what runs over them: one file per model.

Conventions of all models:

- Every number may be a scalar or an array; arguments are broadcast against each other as NumPy does.
  Scalars in, scalars out.
- The unit is in the name: ``_s``, ``_bps``, ``_bits``, ``_bytes``, ``_slots``. A name without unit is
  a count, a probability or a ratio.
- A contention window is given as the number of values a backoff may take (32, not 31, for 802.11b).
- Bad input raises `airqueue.models.errors.ParameterError`, which names the parameter, the value and
  the valid values. An equation without a solution raises `ConvergenceError`. No NaN is returned.
- `airqueue.models.catalogue` lists the models for `airqueue model`.
"""
