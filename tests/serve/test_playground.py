"""The playground at /play/NAME/ of the server: the page's files, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from leantta.errors import DownloadError
from leantta.play.web_engine import engine_files
from serve.served import GOLDEN, Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("play"), GOLDEN / "format1.onnx", "--threads", 1) as running:
        yield running


def has_engine() -> bool:
    try:
        engine_files()
    except DownloadError:
        return False
    return True


def test_a_path_without_its_slash_leads_to_the_page(served: Served) -> None:
    found = served.ask("GET", "/play/format1")
    assert (found.status, found.headers["location"]) == (307, "/play/format1/")


def test_without_the_engine_it_says_what_to_do(served: Served) -> None:
    if has_engine():
        pytest.skip("onnxruntime-web is here")
    assert served.ask("GET", "/play/format1/").status == 503


@pytest.mark.skipif(not has_engine(), reason="onnxruntime-web is not here (scripts/web_engine.py)")
def test_the_page_and_the_file_are_sent(served: Served) -> None:
    page = served.ask("GET", "/play/format1/")
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert served.ask("GET", "/play/format1/model.onnx").body == (GOLDEN / "format1.onnx").read_bytes()
    for wrong in ("/play/format1/nothing", "/play/format1/../../token.txt", "/play/format1/%2e%2e/x"):
        assert served.ask("GET", wrong).status == 404


def test_another_model_is_not_there(served: Served) -> None:
    assert served.ask("GET", "/play/other/").status == 404


def test_it_needs_the_token(tmp_path: Path) -> None:
    (tmp_path / "token.txt").write_text("a-secret-of-mine\n")
    with serving(tmp_path, GOLDEN / "format1.onnx", "--token-file", "token.txt", "--threads", 1) as guarded:
        assert guarded.ask("GET", "/play/format1/model.onnx").status == 401
