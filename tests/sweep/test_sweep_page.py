"""docs/sweep.md has every option and key, and its code runs; so do the examples."""

import re
from pathlib import Path

import pytest
from here import Here

from airqueue import toml_text
from airqueue.cli.sweep import sweep
from airqueue.cli.talk import SHARED
from airqueue.sweep import Sweep, results, spec

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sweep.md").read_text("utf-8")


def test_every_option_key_and_table_is_explained():
    options = [option for parameter in sweep.params for option in parameter.opts]
    options = [option for option in options if option not in SHARED]
    assert not [name for name in options if name.startswith("--") and f"`{name}" not in PAGE]
    assert not [key for key in spec._KEYS if f"| `{key}`" not in PAGE]
    assert not [name for name in results.NAMES if f"`{name}.parquet`" not in PAGE]


def test_the_file_of_the_page_is_the_example():
    shown = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]
    example = ROOT / "examples" / "sweep" / "buffer-size.toml"
    assert toml_text.parse(shown) == toml_text.parse(example.read_text("utf-8"))


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    found = {}
    short = code.replace('"10 s"', '"0.1 s"').replace('"most": 20', '"most": 4')
    exec(short.replace("workers=2", "workers=1"), found)
    assert found["results"].complete
    assert len(capsys.readouterr().out.splitlines()) > 6


def examples() -> list[Path]:
    return sorted((ROOT / "examples" / "sweep").glob("*.toml"))


@pytest.mark.parametrize("path", examples(), ids=lambda path: path.stem)
def test_the_examples_run(path, tmp_path):
    described = toml_text.parse(path.read_text("utf-8"))
    scenario = toml_text.parse((path.parent / described["scenario"]).read_text("utf-8"))
    described["scenario"] = scenario | {"duration": "0.3 s", "warm_up": "0 s"}
    described["replications"] = {"least": 2, "most": 3}
    results = Sweep(described).run(tmp_path, Here())
    assert results.complete
    assert len(results.points) == len(Sweep.from_toml(path).points) > 10
    assert re.search(rf"[`/]{path.name}[`\]]", PAGE)
    for line in re.findall(r"^#     (airqueue sweep .*)$", path.read_text("utf-8"), re.MULTILINE):
        assert f"examples/sweep/{path.name}" in line
