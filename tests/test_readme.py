"""The example in README.md runs, as it stands."""

import re

from tests.conftest import ROOT


def test_example_runs(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out
