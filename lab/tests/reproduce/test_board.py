"""Progress as it is drawn, on a terminal and elsewhere."""

import io

import pytest

from leantta_lab.reproduce.schedule import Active, Board, Status, line
from reproduce.little_jobs import job

RUNNING = Status(
    done=3,
    total=8,
    remaining_seconds=500,
    active=(Active(job=job("tent"), elapsed_seconds=1, share=0.25),),
)
OVER = Status(done=8, total=8, remaining_seconds=0, active=())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_says_what_is_done_left_and_at_work() -> None:
    assert line(RUNNING, 10) == "3 of 8 jobs, about 8 min left: tent 25 %"
    assert line(OVER, 75) == "8 of 8 jobs, 75 s"


def test_elsewhere_a_line_comes_every_ten_seconds_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    stream = io.StringIO()
    board = Board(stream)
    for now in (100.0, 105.0, 111.0, 112.0):  # noqa: B007 - the clock
        board(RUNNING)
    board(OVER)
    assert stream.getvalue().splitlines() == [line(RUNNING, 0)] * 2 + ["8 of 8 jobs, 12 s"]


def test_on_a_terminal_the_line_is_redrawn_and_cut_to_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "21")
    terminal = Terminal()
    board = Board(terminal)
    board(RUNNING)
    board.close()
    assert terminal.getvalue() == "\r3 of 8 jobs, about 8\x1b[K\n"
