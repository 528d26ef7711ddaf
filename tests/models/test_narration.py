from __future__ import annotations

import pytest

from mindshare.models.narration import quiet_transformers, step


def test_nothing_is_said_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    with step("Working", show=True):
        pass
    assert capfd.readouterr() == ("", "")


def test_transformers_speaks_again_afterwards() -> None:
    from transformers.utils import logging

    def settings() -> tuple[bool, int]:
        return logging.is_progress_bar_enabled(), logging.get_verbosity()

    before = settings()
    inside = []

    def fail() -> None:
        with quiet_transformers():
            inside.append(settings())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert inside == [(False, logging.ERROR)]
    assert settings() == before
