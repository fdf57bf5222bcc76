"""Records of signals, rates and shares of busy time in CSV files beside a scenario."""

from pathlib import Path

import pytest

from airqueue.simulate import Scenario, ScenarioError
from airqueue.simulate.recorded import MOST_BYTES, MOST_ROWS, beside, whole

SCENARIO = """
duration = "1 s"
warm_up = "0 s"

[phy]
standard = "802.11a"
rate = "54 Mb/s"

[medium]
snr = "40 dB"
errors = "snr"

[[stations]]
name = "ap"

[[stations]]
name = "phone"

[[links]]
between = ["ap", "phone"]
{link}

[[interference]]
name = "others"
occupancy = {{ {occupancy} }}

[[flows]]
name = "up"
from = "phone"
to = "ap"
"""


def written(
    folder: Path, link: str = 'snr_trace = {file = "walk.csv"}', occupancy: str = "share = 0.1"
) -> Path:
    path = folder / "home.toml"
    path.write_text(SCENARIO.format(link=link, occupancy=occupancy))
    return path


def test_records_are_read_beside_the_scenario_and_become_values(tmp_path, monkeypatch):
    (tmp_path / "walk.csv").write_text(
        "\ufeff# to the kitchen\nplace,time_s,snr_db\n\nsofa,0,40\ndoor, 0.5 ,25.5\n", "utf-8"
    )
    (tmp_path / "rates.csv").write_text("time_s,rate\n0,54 Mb/s\n0.25,6 Mb/s\n")
    (tmp_path / "busy.csv").write_text("time_s,busy_ratio\n0,0.25\n")
    monkeypatch.chdir("/")
    link = 'snr_trace = {file = "walk.csv"}\nrate_trace = {file = "rates.csv", repeat = "1 s"}'
    path = written(tmp_path, link, 'trace = {file = "busy.csv"}')
    description = Scenario.from_toml(path).description
    assert description["links"] == [
        {
            "between": ["ap", "phone"],
            "snr_trace": {"time_s": [0.0, 0.5], "snr_db": [40.0, 25.5]},
            "rate_trace": {"time_s": [0.0, 0.25], "rate": ["54 Mb/s", "6 Mb/s"], "repeat": "1 s"},
        }
    ]
    trace = description["interference"][0]["occupancy"]["trace"]
    assert trace == {"time_s": [0.0], "busy_ratio": [0.25]}
    # What was read is whole: no file is read again.
    (tmp_path / "walk.csv").unlink()
    assert Scenario(description).description == description


def test_a_change_names_another_record(tmp_path):
    for name, snr_db in (("walk", 40), ("cellar", 3)):
        (tmp_path / f"{name}.csv").write_text(f"time_s,snr_db\n0,{snr_db}\n")
    path = written(tmp_path)
    other = Scenario.from_toml(path, {"links.0.snr_trace.file": str(tmp_path / "cellar.csv")})
    assert other.description["links"][0]["snr_trace"]["snr_db"] == [3.0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "walk.csv: no rows; expected a line 'time_s,snr_db' and rows below it"),
        ("time_s,snr_db\n", "walk.csv: no rows; expected"),
        ("time,snr_db\n0,1\n", "walk.csv, line 1: the heading 'time,snr_db'; expected the columns"),
        ("time_s,snr_db\n0,40\n0,41\n", "walk.csv, line 3: 0 s is not after 0 s; times must rise"),
        ("time_s,snr_db\n0\n", "walk.csv, line 2: found 1 cells; expected time_s and snr_db"),
        ("time_s,snr_db\n0,loud\n", "walk.csv, line 2: snr_db is 'loud'; expected a number"),
        ("time_s,snr_db\nnan,1\n", "walk.csv, line 2: time_s is 'nan'; expected a number"),
        ("time_s,snr_db\n0,\n", "walk.csv, line 2: snr_db is ''; expected a number"),
        # The engine judges these; the sentence names the line of the file all the same.
        ("# a\ntime_s,snr_db\n0,40\n\n1,4e9\n", "walk.csv, line 5: found 4"),
        ("time_s,snr_db\n-1,40\n", "walk.csv, line 2: found -1"),
    ],
)
def test_a_wrong_record_is_refused_with_file_and_line(tmp_path, content, said):
    (tmp_path / "walk.csv").write_text(content)
    with pytest.raises(ScenarioError) as refusal:
        Scenario.from_toml(written(tmp_path))
    assert said in str(refusal.value)
    assert "links[0].snr_trace" in str(refusal.value)
    assert str(tmp_path / "home.toml") in str(refusal.value)


def test_a_wrong_rate_names_its_line(tmp_path):
    (tmp_path / "rates.csv").write_text("time_s,rate\n0,54 Mb/s\n1,55 Mb/s\n")
    with pytest.raises(ScenarioError, match=r"rates\.csv, line 3: .*55 Mb/s"):
        Scenario.from_toml(written(tmp_path, 'rate_trace = {file = "rates.csv"}'))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ('"missing.csv"', "missing.csv: No such file or directory; expected a CSV file"),
        ('"."', "expected a CSV file"),
        ('""', "expected"),
        ("7", "7; expected the name of a CSV file"),
        ('"a\\u0000b"', "expected the name of a CSV file"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, name, said):
    with pytest.raises(ScenarioError) as refusal:
        Scenario.from_toml(written(tmp_path, f"snr_trace = {{file = {name}}}"))
    assert "links[0].snr_trace.file: " in str(refusal.value)
    assert said in str(refusal.value)


def test_records_have_bounds(tmp_path):
    path = written(tmp_path)
    record = tmp_path / "walk.csv"
    with record.open("w") as file:
        file.write("time_s,snr_db\n")
        file.writelines(f"{at},1\n" for at in range(MOST_ROWS + 1))
    with pytest.raises(ScenarioError, match=rf"line {MOST_ROWS + 2}: more than 1,000,000 rows"):
        Scenario.from_toml(path)
    with record.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(ScenarioError, match="is too large; expected at most 64 MiB"):
        Scenario.from_toml(path)
    record.write_bytes(b"time_s,snr_db\n0,\xff\n")
    with pytest.raises(ScenarioError, match="line 2 is not UTF-8"):
        Scenario.from_toml(path)


def test_a_file_beside_values_is_refused():
    table = {"file": "walk.csv", "time_s": [0.0]}
    with pytest.raises(ScenarioError, match=r"links\[0\]\.snr_trace\.file: time_s is given, too"):
        whole({"links": [{"snr_trace": table}]})


@pytest.mark.parametrize("links", [None, 7, [7], [{"snr_trace": 7}], [{"snr_trace": {"file": 7}}]])
def test_what_is_no_record_stays_for_the_check_of_the_scenario(links):
    assert beside({"links": links}, "home") == {"links": links}
