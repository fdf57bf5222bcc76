"""The site of a reproduction: a page for each paper, with figures, verdicts, scenarios and commands.

Files that lie beside each other and name each other by relative links: it needs no network, no
server and no script.
"""

from airqueue_papers.site.site import Origin, write_site

__all__ = ["Origin", "write_site"]
