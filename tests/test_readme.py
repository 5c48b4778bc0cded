"""The example in README.md runs, as it stands, and prints what it says."""

import re

import numpy as np


def test_example_runs(pytestconfig, capsys):
    text = (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(example, {})
    (promised,) = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    printed, promised = (
        np.array(re.findall(r"-?\d+\.\d*", words), float)
        for words in (capsys.readouterr().out, promised)
    )
    np.testing.assert_allclose(printed, promised, atol=0.02)
