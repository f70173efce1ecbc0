import io

from leantta.progress import Bar, silent


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_redrawn_and_ends_with_a_line():
    screen = Terminal()
    bar = Bar("images", screen)
    bar.drawn -= 1  # as if a second had passed
    bar(1, 4)
    bar(4, 4)
    first, last = screen.getvalue().split("\r")[1:]
    assert "images  [######..................] 1/4" in first
    assert "s left" in first
    assert "4/4" in last
    assert last.endswith("\n")


def test_a_log_gets_few_lines():
    log = io.StringIO()
    bar = Bar("images", log)
    for done in range(1, 1001):
        bar(done, 1000)
    assert len(log.getvalue().splitlines()) == 1
    assert "1000/1000" in log.getvalue()


def test_nothing_done_yet_divides_by_nothing():
    bar = Bar("images", io.StringIO())
    bar.drawn -= 60
    bar(0, 10)
    bar(0, 0)
    silent(1, 2)
