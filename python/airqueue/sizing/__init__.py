"""From a description of a network to its configuration, with reasons and predictions.

`ap.ap_queue`, `mesh.size_mesh`, `edca.size_edca`, `rdqm.size_rdqm` and `web.size_web` give the
numbers; `ap_advice.ap_advice`, and a function like this for each of the others, makes an
`advice.Advice` of the numbers, with reasons, alternatives and the settings of
`airqueue.sizing.settings`. The formulas are those of `airqueue.models`; `airqueue.trials` simulates
what is advised, and the modules whose names end in ``_trial`` say what was found.
"""
