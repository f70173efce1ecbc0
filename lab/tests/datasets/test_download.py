"""Archives are fetched from a real server on this machine, with the faults that real ones have."""

import dataclasses
import hashlib
import io
import re
import socket
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from leantta.errors import DownloadError, SettingError, StorageError
from leantta_lab.datasets.archives import ARCHIVES, Archive
from leantta_lab.datasets.download import download, fetch

PAYLOAD = bytes(range(256)) * 16384  # 4 MB: several blocks


def tarball(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=0) as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return stream.getvalue()


class Server(ThreadingHTTPServer):
    """Serves one body, as told."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body = b""
        self.breaks_after: int | None = None  # bytes, once
        self.ranges = True
        self.says_length = True
        self.requests: list[str | None] = []  # the Range header of each

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/a.tar.gz?download=1"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        asked = self.headers.get("Range")
        server.requests.append(asked)
        if "missing" in self.path:
            self.send_error(404)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and server.ranges else 0
        if start >= len(server.body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.body) - 1}/{len(server.body)}")
        if server.says_length:
            self.send_header("Content-Length", str(len(server.body) - start))
        self.end_headers()
        end, server.breaks_after = server.breaks_after, None
        self.wfile.write(server.body[start:] if end is None else server.body[start : start + end])

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        running.body = tarball({"data/images.bin": PAYLOAD, "data/readme.txt": b"hello"})
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def archive_of(server: Server) -> Archive:
    digest = hashlib.md5(server.body).hexdigest()
    return Archive(url=server.url, file="a.tar.gz", folder="data", md5=digest, size_bytes=len(server.body))


def test_an_archive_is_fetched_checked_and_unpacked(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    target = tmp_path / "new" / "folder"
    folder = fetch(archive_of(server), target, lambda done, total: seen.append((done, total)))
    assert folder == target / "data"
    assert (folder / "images.bin").read_bytes() == PAYLOAD
    assert [path.name for path in target.iterdir()] == ["data"]  # no archive, no part, no scratch folder
    assert seen[-1] == (len(server.body), len(server.body))
    assert len(seen) > 3
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_what_is_there_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        fetch(archive_of(server), tmp_path)
    assert len(server.requests) == 1


@pytest.mark.parametrize("says_length", [True, False])
def test_a_broken_transfer_goes_on_where_it_stopped(
    says_length: bool, server: Server, tmp_path: Path
) -> None:
    archive = archive_of(server)
    server.breaks_after, server.says_length = 1_500_000, says_length
    with pytest.raises(
        DownloadError, match=rf"broke off at 1500000 of {len(server.body)} bytes.*goes on from there"
    ):
        fetch(archive, tmp_path)
    assert not (tmp_path / "data").exists()
    assert (fetch(archive, tmp_path) / "images.bin").read_bytes() == PAYLOAD
    assert server.requests == [None, "bytes=1500000-"]


def test_a_server_without_ranges_starts_over(server: Server, tmp_path: Path) -> None:
    server.breaks_after, server.ranges = 1_500_000, False
    with pytest.raises(DownloadError, match="broke off"):
        fetch(archive_of(server), tmp_path)
    assert (fetch(archive_of(server), tmp_path) / "images.bin").read_bytes() == PAYLOAD


def test_a_part_that_is_whole_is_used(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz.part").write_bytes(server.body)
    assert (fetch(archive_of(server), tmp_path) / "readme.txt").read_bytes() == b"hello"
    assert server.requests == [f"bytes={len(server.body)}-"]


def test_a_wrong_checksum_is_refused_and_starts_afresh(server: Server, tmp_path: Path) -> None:
    archive = archive_of(server)
    server.body = server.body[:-1] + b"!"
    with pytest.raises(DownloadError, match=f"is not the archive it should be.*By hand.*md5 {archive.md5}"):
        fetch(archive, tmp_path)
    assert list(tmp_path.iterdir()) == []


def by_hand(archive: Archive, folder: Path) -> str:
    address = rf"{re.escape(archive.url)} \(\d+ MB, md5 {archive.md5}\)"
    return f"By hand: fetch {address}, put it at {re.escape(str(folder / archive.file))}"


def test_without_a_connection_the_way_by_hand_is_told_and_works(server: Server, tmp_path: Path) -> None:
    with socket.socket() as closed:  # a port that nobody listens at
        closed.bind(("127.0.0.1", 0))
        archive = dataclasses.replace(
            archive_of(server), url=f"http://127.0.0.1:{closed.getsockname()[1]}/a.tar.gz"
        )
        with pytest.raises(DownloadError, match=r"refused.*" + by_hand(archive, tmp_path)):
            fetch(archive, tmp_path)
        (tmp_path / archive.file).write_bytes(server.body)
        assert (fetch(archive, tmp_path) / "images.bin").read_bytes() == PAYLOAD


def test_a_wrong_file_fetched_by_hand_is_kept_and_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"<html>not here</html>")
    with pytest.raises(DownloadError, match=r"a\.tar\.gz is not the archive it should be: 21 bytes"):
        fetch(archive_of(server), tmp_path)
    assert (tmp_path / "a.tar.gz").exists()
    assert server.requests == []


def test_a_missing_page(server: Server, tmp_path: Path) -> None:
    archive = dataclasses.replace(archive_of(server), url=server.url.replace("a.tar.gz", "missing"))
    with pytest.raises(DownloadError, match=r"404 Not Found.*By hand"):
        fetch(archive, tmp_path)


def test_other_kinds_of_address_are_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="only http and https"):
        fetch(dataclasses.replace(archive_of(server), url="file:///etc/passwd"), tmp_path)


@pytest.mark.parametrize("name", ["../outside.txt", "data/../../outside.txt"])
def test_nothing_is_unpacked_outside(name: str, server: Server, tmp_path: Path) -> None:
    server.body = tarball({"data/a": b"a", name: b"malice"})
    with pytest.raises(DownloadError, match=r"cannot unpack .*outside"):
        fetch(archive_of(server), tmp_path / "inner")
    assert not (tmp_path / "inner" / "data").exists()
    assert not list(tmp_path.rglob("outside.txt"))


def test_an_absolute_path_is_taken_as_a_relative_one(server: Server, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    server.body = tarball({"data/a": b"a", str(outside): b"malice"})
    fetch(archive_of(server), tmp_path / "inner")
    assert not outside.exists()


def test_a_link_out_of_the_folder_is_refused(server: Server, tmp_path: Path) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        link = tarfile.TarInfo("data/link")
        link.type, link.linkname = tarfile.SYMTYPE, "../../.."
        tar.addfile(link)
    server.body = stream.getvalue()
    with pytest.raises(DownloadError, match="cannot unpack"):
        fetch(archive_of(server), tmp_path)


def test_an_archive_of_something_else_is_refused(server: Server, tmp_path: Path) -> None:
    server.body = tarball({"other/a": b"a"})
    with pytest.raises(DownloadError, match="has no folder data"):
        fetch(archive_of(server), tmp_path)
    server.body = b"no tar at all" * 100
    (tmp_path / "a.tar.gz").unlink()
    with pytest.raises(DownloadError, match="cannot unpack"):
        fetch(archive_of(server), tmp_path)


def test_a_place_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot write"):
        fetch(archive_of(server), tmp_path / "file" / "folder")


def test_unknown_dataset(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="known: cifar10, "):
        download("imagenet", tmp_path)


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_table(name: str) -> None:
    archive = ARCHIVES[name]
    address = urlsplit(archive.url)
    assert address.scheme == "https"
    assert address.netloc in ("www.cs.toronto.edu", "zenodo.org")
    assert Path(address.path).name == archive.file
    assert re.fullmatch("[0-9a-f]{32}", archive.md5)
    assert archive.size_bytes > 160e6


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_dataset_that_is_there_is_returned(name: str, tmp_path: Path) -> None:
    (tmp_path / ARCHIVES[name].folder).mkdir()
    assert download(name, tmp_path) == tmp_path / ARCHIVES[name].folder
