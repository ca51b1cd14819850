"""Every example of the README runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parents[1] / "README.md"
FRONT_PAGE = Path(__file__).resolve().parents[3] / "README.md"


def examples(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.S)


def test_the_three_lines_of_the_front_page(capsys: Any) -> None:
    (block,) = examples(FRONT_PAGE)
    assert len(block.splitlines()) == 3
    exec(block, {})
    assert "--expert-model-parallel-size" in capsys.readouterr().out


def test_examples(capsys: Any) -> None:
    blocks = examples(README)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    printed = capsys.readouterr().out
    assert "--expert-model-parallel-size" in printed
    assert "moe_token_dispatcher_type = flex" in printed  # the image has DeepEP
    assert "recompute.full-needs-method" in printed
