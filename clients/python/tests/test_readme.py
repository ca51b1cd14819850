"""Every example of the README runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

README = Path(__file__).resolve().parents[1] / "README.md"


def test_examples(capsys: Any) -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    printed = capsys.readouterr().out
    assert "--expert-model-parallel-size" in printed
    assert "moe_token_dispatcher_type = alltoall" in printed
    assert "recompute.full-needs-method" in printed
