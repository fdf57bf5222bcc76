"""The made-up site that several tests look at."""

from __future__ import annotations

import pytest
import reproduced

from airqueue_papers.site import write_site


@pytest.fixture(scope="session")
def made_up_site(tmp_path_factory):
    """The site of a reproduction with every verdict and every form of claim and figure."""
    directory = tmp_path_factory.mktemp("site")
    index = write_site(directory, reproduced.reproduced(), reproduced.ORIGIN)
    assert index == directory / "index.html"
    return directory
