"""The example in README.md runs, as it stands."""

import re


def test_example_runs(pytestconfig, capsys):
    text = (pytestconfig.rootpath / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out
