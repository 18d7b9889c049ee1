from __future__ import annotations

import gc
import threading

import pytest

from countermark.scene.jsontext import uncollected


def test_the_collector_rests_for_large_texts_only_and_wakes_again() -> None:
    with uncollected(10):
        assert gc.isenabled()
    with uncollected(1 << 20):
        assert not gc.isenabled()
        with uncollected(1 << 20):
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_wakes_after_an_error_and_stays_off_where_it_was_off() -> None:
    with pytest.raises(ValueError, match="invalid literal"), uncollected(1 << 20):
        int("broken")
    assert gc.isenabled()
    gc.disable()
    try:
        with uncollected(1 << 20):
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_second_thread_does_not_wake_it_too_early_nor_let_it_sleep() -> None:
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with uncollected(1 << 20):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    assert entered.wait(10)
    with uncollected(1 << 20):
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()
