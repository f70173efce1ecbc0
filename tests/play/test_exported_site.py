"""The page's files: whole, of one place, served to this computer alone; and the engine that npm brings."""

import base64
import hashlib
import http.client
import io
import json
import re
import tarfile
from pathlib import Path
from threading import Thread

import pytest

from leantta.errors import DownloadError
from leantta.play import web_engine
from leantta.play.server import page_server
from leantta.play.site import PAGE, POLICY, content_type, read, site_files
from running import Run

GOLDEN = Path(__file__).parents[1] / "runtime" / "golden" / "format1.onnx"


def archive(path: Path) -> str:
    """Write what npm would bring, with short files, and return its digest."""
    with tarfile.open(path, "w:gz") as package:
        for name in web_engine.FILES:
            content = f"this is {name}".encode()
            member = tarfile.TarInfo(f"package/dist/{name}")
            member.size = len(content)
            package.addfile(member, io.BytesIO(content))
    return base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()


@pytest.fixture
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(web_engine, "FOLDER", tmp_path / "engine")
    return tmp_path / "engine"


@pytest.fixture
def engine(no_engine: Path, tmp_path: Path) -> Path:
    web_engine.unpack(tmp_path / "package.tgz", archive(tmp_path / "package.tgz"))
    return no_engine


@pytest.mark.usefixtures("engine")
def test_all_that_the_page_asks_for_is_there() -> None:
    files = site_files(GOLDEN)
    asked = set()
    for name, content in files.items():
        if name.endswith((".html", ".js")) and not name.startswith("engine/"):
            text = read(content).decode()
            asked |= set(re.findall(r'(?:from |src=|href=|fetch\(|URL\()"(?:\./)?([^"#]+)"', text))
    assert {"main.js", "style.css", "site.json", "worker.js", "engine/ort.wasm.min.mjs"} <= asked
    assert not {each for each in asked if each.rstrip("/") not in files and each != "engine/"}
    assert not [each for each in asked if ":" in each]


def test_the_page_names_no_other_host_and_its_policy_allows_none() -> None:
    for path in PAGE.iterdir():
        if path.is_file():
            hosts = re.findall(r"https?://[^\s\"'<>]+", path.read_text())
            assert set(hosts) <= {"http://www.w3.org/2000/svg"}, path.name
    assert POLICY in (PAGE / "index.html").read_text()


@pytest.mark.usefixtures("engine")
def test_an_exported_page_is_whole(run: Run, tmp_path: Path) -> None:
    done = run("play", GOLDEN, "--export", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    for name, content in site_files(GOLDEN).items():
        assert (tmp_path / "site" / name).read_bytes() == read(content)
    told = json.loads((tmp_path / "site" / "site.json").read_text())
    assert told == {"model": {"name": "format1.onnx", "path": "model.onnx"}, "samples": []}


@pytest.mark.usefixtures("engine")
def test_the_server_gives_the_files_and_nothing_else() -> None:
    files = site_files(GOLDEN)
    with page_server(files, 0) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        assert server.server_address[0] == "127.0.0.1"
        link = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        for name, content in {**files, "": files["index.html"]}.items():
            link.request("GET", f"/{name}?some=thing")
            answer = link.getresponse()
            assert (answer.status, answer.read()) == (200, read(content))
            assert answer.headers["Content-Type"] == content_type(name or "index.html")
            assert answer.headers["Content-Security-Policy"] == POLICY
        for wrong in (
            "/../site.py",
            "/%2e%2e/site.py",
            "/__init__.py",
            "//etc/passwd",
            "/engine",
            "/engine/VERSION",
        ):
            link.request("GET", wrong)
            answer = link.getresponse()
            answer.read()
            assert answer.status == 404, wrong
            link.close()
        server.shutdown()


@pytest.mark.usefixtures("engine")
def test_what_cannot_be_played_is_told_in_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    (tmp_path / "empty").mkdir()
    for words in (
        ["bad.onnx"],
        ["missing.onnx"],
        [GOLDEN, "--samples", "empty"],
        [GOLDEN, "--export", GOLDEN],
    ):
        done = run("play", *words)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert done.stderr.startswith("error: ")


@pytest.mark.usefixtures("no_engine")
def test_a_missing_engine_is_told_with_what_to_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DownloadError, match="npm"):
        site_files(GOLDEN)
    monkeypatch.setenv("PATH", "")
    done = run("play", GOLDEN)
    assert done.returncode == 1
    assert "Install npm" in done.stderr.splitlines()[-1]


def test_the_engine_is_fetched_with_npm(
    no_engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch)
    monkeypatch.setattr(web_engine.unpack, "__defaults__", (archive(tmp_path / "package.tgz"),))
    assert not web_engine.is_there()
    web_engine.fetch()
    assert web_engine.is_there()
    assert set(web_engine.engine_files()) == {*web_engine.FILES, *web_engine.LICENCES}
    assert b"MIT" in (no_engine / "LICENSE").read_bytes()
    (no_engine / "VERSION").write_text("onnxruntime-web@0.1.0")  # of an earlier leantta
    assert not web_engine.is_there()


def test_another_package_than_the_pinned_one_is_refused(
    no_engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch)
    archive(tmp_path / "package.tgz")
    with pytest.raises(DownloadError, match="another"):
        web_engine.fetch()
    assert not no_engine.exists()


def test_npm_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "echo 'npm error: no such package' >&2; exit 1")
    with pytest.raises(DownloadError, match="no such package"):
        web_engine.fetch()


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str = "") -> None:
    """Put an npm in place that packs the archive in a folder."""
    script = script or f'for last; do :; done; cp "{folder}/package.tgz" "$last/"'
    (folder / "bin").mkdir()
    (folder / "bin" / "npm").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
