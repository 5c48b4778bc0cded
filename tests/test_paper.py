"""The report on the paper: its writer, and the whole of it in its short version."""

import os
import runpy
import subprocess
import sys

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture
def folder(pytestconfig):
    return pytestconfig.rootpath / "examples" / "paper"


def test_report_is_one_file_of_escaped_text(folder, tmp_path):
    from matplotlib.figure import Figure

    report = runpy.run_path(str(folder / "report.py"))["Report"]("a < b")
    report.section("6.1", "One & two")
    report.text("with `code`")
    report.table(["x", "paper: x"], [["a", 1234.5], [None, 0.01234]], "caption",
                 published=["paper: x"])  # fmt: skip
    report.figure(Figure(), "a picture")
    report.claim("6.1", "It holds.", True, "measured")
    report.claim("6.1", "It fails.", False, "measured")
    report.claim("6.1", "Who knows.", None, "not run")
    report.write(tmp_path / "report.html", ["introduction"])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for part in ("a &lt; b", "One &amp; two", "<code>code</code>", "1,234", "0.0123"):
        assert part in page
    assert page.count("data:image/png;base64,") == 1
    assert 'class="published">1,234' in page
    for verdict in ("holds", "fails", "unknown"):
        assert page.count(f'<td class="{verdict}">') == 1
    assert "http" not in page


@pytest.mark.long
def test_short_version_of_the_paper(folder, tmp_path):
    """Every section runs; those without data say so."""
    command = [
        sys.executable,
        str(folder / "run.py"),
        "--quick",
        "--file",
        "paper.html",
    ]
    run = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "MPLBACKEND": "Agg"}, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    page = (tmp_path / "paper.html").read_text(encoding="utf-8")
    for number in ("2.5", "4", "5.1", "5.2", "5.3", "6.1", "6.2", "6.3"):
        assert f'id="s{number}"' in page
    assert page.count(">holds<") > 8
