"""From a description of a network to its configuration, with reasons and predictions.

`ap.ap_queue`, `mesh.size_mesh` and `edca.size_edca` give the numbers; `ap_advice.ap_advice`,
`mesh_advice.mesh_advice` and `edca_advice.edca_advice` make an `advice.Advice` of them, with reasons,
alternatives and the settings of `airqueue.sizing.settings`. The formulas are those of
`airqueue.models`.
"""
