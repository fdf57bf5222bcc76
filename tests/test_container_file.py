"""The container file has only steps that scripts/container_steps.py carries out for `make dist`."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.container_steps import Image, StepError, instructions

FILE = Path(__file__).parent.parent / "packaging" / "container" / "Containerfile"


class Recorded(Image):
    """An image whose RUN is written down."""

    ran: list[list[str]]

    def run(self, command, more, said=None):
        self.ran.append(list(command))
        return 0


@pytest.fixture
def image(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "airqueue-1-any.whl").write_bytes(b"wheel")
    made = Recorded(tmp_path / "root", tmp_path, {})
    made.ran = []
    return made


def test_the_steps_of_the_container_file_are_carried_out(image):
    steps = list(instructions(FILE.read_text("utf-8")))
    assert steps[0][0] == "FROM"
    for word, rest in steps:
        image.step(word, rest)
    assert (image.root / "tmp" / "airqueue-1-any.whl").read_bytes() == b"wheel"
    assert (image.entry, image.default) == (["airqueue"], ["--help"])
    assert image.user == "airqueue" and (image.root / "work").is_dir()
    # The virtual environment that a step makes is where the entry point is looked for.
    made = next(each[-1] for each in image.ran if "-m venv" in each[-1])
    folder = made.split("-m venv ")[1].split()[0]
    assert f"{folder}/bin" in image.variables["PATH"].split(":")


def test_comments_are_no_steps_and_a_step_may_have_several_lines():
    text = "# RUN no\nRUN one \\\n  # no\n    && two\n\nuser someone\n"
    assert list(instructions(text)) == [("RUN", "one && two"), ("USER", "someone")]


def test_a_step_that_is_not_known_or_lacks_its_file_is_an_error(image):
    with pytest.raises(StepError, match="HEALTHCHECK is not known"):
        image.step("HEALTHCHECK", "CMD true")
    with pytest.raises(StepError, match=r"has no other-\*\.whl"):
        image.step("COPY", "other-*.whl /tmp/")
