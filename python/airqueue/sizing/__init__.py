"""From a description of a network to what to configure on it, with the reason and what to expect.

`ap.ap_queue`, `mesh.size_mesh` and `edca.size_edca` give the numbers; `ap_advice.ap_advice`,
`mesh_advice.mesh_advice` and `edca_advice.edca_advice` make an `advice.Advice` of them, with reasons,
alternatives and the settings of `airqueue.sizing.settings`. The formulas are those of
`airqueue.models`.
"""
