"""Ctrl-C while a model is fitted: it waits for a safe point, and then it is heard."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest

from shoal.core.spend import parse_spend
from shoal.dp.mechanisms import calibrate_noise
from shoal.releases.forms.synthetic import NoisyMarginals, defer_interrupts, draw_made_up_people


def press() -> None:
    """Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


def test_a_fit_is_left_between_two_of_its_blocks() -> None:
    pytest.importorskip("mbi")
    steps: list[tuple[str, int]] = []

    def progress(step: str, done: int, of: int) -> None:
        press()
        steps.append((step, done))  # nothing is raised where the package may be at work

    known = [NoisyMarginals({(0,): np.array([6, 4])}, calibrate_noise(parse_spend(1), 1))]
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        draw_made_up_people([2], known, None, progress)
    assert steps == [("fitting", 0)]
    assert signal.getsignal(signal.SIGINT) is before


def test_it_waits_for_a_safe_point() -> None:
    reached = []

    def work() -> None:
        with defer_interrupts() as at_rest:
            press()
            reached.append("still at work")
            at_rest()
            reached.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == ["still at work"]


def test_it_is_heard_at_the_end_even_where_something_else_fails() -> None:
    before = signal.getsignal(signal.SIGINT)

    def failing() -> None:
        press()
        raise ValueError

    with pytest.raises(KeyboardInterrupt), defer_interrupts():
        press()
    with pytest.raises(KeyboardInterrupt), defer_interrupts():
        failing()
    with pytest.raises(ValueError, match="alone"), defer_interrupts():
        raise ValueError("alone")
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_waits_for_nothing() -> None:
    found: list[bool] = []

    def work() -> None:
        before = signal.getsignal(signal.SIGINT)
        with defer_interrupts() as at_rest:
            at_rest()
            found.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]
