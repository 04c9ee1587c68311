"""The code of docs/theory.md runs, and prints what the page says; so does the script of its figure."""

import re
import subprocess
import sys
from pathlib import Path

from cormorant import measures

ROOT = Path(__file__).parents[2]


def test_the_examples_run_in_order(capsys):
    page = (ROOT / "docs" / "theory.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) >= 6
    exec(compile("\n".join(blocks), "theory.md", "exec"), {})
    printed = capsys.readouterr().out
    for promised in re.findall(r"^# ((?:finite|mean) .*)$", page, flags=re.MULTILINE):
        assert promised in printed


def test_the_figure_is_drawn(tmp_path):
    target = tmp_path / "figure.png"
    script = ROOT / "examples" / "correlated_measures.py"
    subprocess.run([sys.executable, script, target], check=True, capture_output=True)
    assert target.stat().st_size > 20_000


def test_the_api_page_lists_every_public_name():
    page = (ROOT / "docs" / "api.md").read_text()
    listed = set(re.findall(r"^::: cormorant\.measures\.(\w+)$", page, flags=re.MULTILINE))
    made = {name for name in measures.__all__ if getattr(measures, name).__module__.endswith(".constructions")}
    assert listed == set(measures.__all__) - made | {"constructions"}
