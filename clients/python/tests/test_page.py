"""The page of an answer comes from the sources, or from the program that a wheel brings."""

from pathlib import Path

import pytest

from flightplan import _page


def test_the_program_has_the_page_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = _page._template()
    monkeypatch.setattr(_page, "__file__", str(tmp_path / "_page.py"))
    assert _page._template() == beside


def test_a_program_of_another_release_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_page, "__file__", str(tmp_path / "_page.py"))
    monkeypatch.setattr(_page, "find_binary", lambda: Path("/bin/false"))
    with pytest.raises(RuntimeError, match="/bin/false has no report-page"):
        _page._template()
