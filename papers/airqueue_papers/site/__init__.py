"""The site of a reproduction: a page for each paper, with figures, verdicts, scenarios and commands.

The files lie beside each other and use relative links: the site needs no network, server or
script.
"""

from airqueue_papers.site.site import Origin, write_site

__all__ = ["Origin", "write_site"]
