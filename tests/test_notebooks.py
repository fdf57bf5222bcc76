"""The notebooks among the examples run in Jupyter's kernel; results are tables and data sets."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

from airqueue.cells import to_notebook

NOTEBOOKS = sorted(Path("python/airqueue/examples/notebooks").resolve().glob("*.py"))
DATA_SET = """# %% [markdown]
# # A data set
# %%
import airqueue
results = airqueue.simulate.cell(stations=2, duration="100 ms").simulate(replications=2)
results
# %%
results.to_xarray("flows")
"""


def executed(content: str, folder: Path) -> list[nbformat.NotebookNode]:
    """Run cells in a kernel, and return those with code; a cell that fails raises."""
    notebook = nbformat.reads(to_notebook(content), as_version=4)
    nbformat.validate(notebook)
    resources = {"metadata": {"path": str(folder)}}
    client = nbclient.NotebookClient(
        notebook, timeout=60, kernel_name="python3", resources=resources
    )
    return [cell for cell in client.execute().cells if cell.cell_type == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_in_a_kernel(path, tmp_path):
    cells = executed(path.read_text("utf-8"), tmp_path)
    assert all(cell.execution_count for cell in cells)
    shown = [output for cell in cells for output in cell.outputs]
    assert shown, "a notebook shows what it is about"


def test_results_are_tables_and_data_sets_in_a_kernel(tmp_path):
    results, data_set = executed(DATA_SET, tmp_path)
    (table,) = results.outputs
    assert "<table>" in table.data["text/html"]
    (shown,) = data_set.outputs
    assert "xarray.Dataset" in shown.data["text/html"]
    assert "throughput_bps" in shown.data["text/plain"]


def test_a_cell_that_fails_fails(tmp_path):
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="of this cell"):
        executed('# %%\nraise ValueError("of this cell")\n', tmp_path)
