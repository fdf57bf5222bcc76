"""How each mechanism is switched off, for `airqueue_papers.sabotage`: a module for each paper."""
