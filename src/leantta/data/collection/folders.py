"""What a folder of images means: class folders, domains, the layout of ImageNet-C, or images alone.

| layout | files |
|---|---|
| classes | CLASS/file |
| domains | DOMAIN/CLASS/file, or DOMAIN/file without labels |
| imagenet-c | CORRUPTION/SEVERITY/CLASS/file, or CORRUPTION/SEVERITY/file as `leantta corrupt` writes it |
| unlabelled | file, at any depth |
"""

from collections.abc import Sequence
from itertools import repeat
from pathlib import Path

from leantta.data.collection.collection import Collection, Layout
from leantta.data.collection.rows import Row, collected
from leantta.data.collection.search import Found, no_image, search
from leantta.errors import DataError

SEVERITIES = frozenset("12345")

Parts = Sequence[tuple[str, ...]]
"""The folders of each file, from the outermost to its own."""


def open_folder(path: Path, layout: Layout | None, classes: Sequence[str] | None) -> Collection:
    """Return the images of a folder; without a layout it is found out.

    Raises:
        DataError: no image, a layout that does not fit or cannot be told, or a label that is no class.
    """
    files = tuple(search(path))
    if not files:
        raise no_image(path)
    folders = [tuple(each.key.split("/")[:-1]) for each in files]
    layout = layout or layout_of(path, folders, classes)
    depth = {len(each) for each in folders}
    if layout == "unlabelled":
        return _collection(path, layout, files)
    least = 2 if layout == "imagenet-c" else 1
    if min(depth) < least:
        raise _misfit(path, layout, f"{sum(len(each) < least for each in folders)} images are not so deep")
    if layout == "classes":
        return _collection(path, layout, files, [each[0] for each in folders], classes)
    if layout == "imagenet-c":
        odd = next((each for each in folders if each[1] not in SEVERITIES), None)
        if odd:
            raise _misfit(path, layout, f"{'/'.join(odd[:2])} does not end in a severity")
    if len(depth) > 1 and min(depth) == least:
        raise _misfit(path, layout, "some images lie in class folders and some do not")
    names = [each[least] for each in folders] if min(depth) > least else None
    return _collection(path, layout, files, names, classes, ["/".join(each[:least]) for each in folders])


def layout_of(path: Path, folders: Parts, classes: Sequence[str] | None) -> Layout:
    """Return what the folders of images mean.

    Raises:
        DataError: they may mean several things.
    """
    depths = {len(each) for each in folders}
    if depths == {0}:
        return "unlabelled"
    if 0 in depths:
        loose = sum(not each for each in folders)
        raise _unclear(path, f"{loose} images lie beside folders with {len(folders) - loose}")
    if min(depths) >= 2 and all(each[1] in SEVERITIES for each in folders):
        return "imagenet-c"
    first = sorted({each[0] for each in folders})
    if depths == {1} or (classes is not None and set(first) <= set(classes)):
        return "classes"
    if min(depths) >= 2 and _shared(folders):
        return "domains"
    if len(first) == 1 and min(depths) >= 2:
        raise DataError(f"all images of {path} are in {path / first[0]}: name that folder instead.")
    raise _unclear(path, f"images lie {' and '.join(map(str, sorted(depths)))} folders deep")


def _shared(folders: Parts) -> bool:
    """Tell whether each outer folder has an inner one by a name that another has, too: domains have."""
    inner: dict[str, set[str]] = {}
    for each in folders:
        inner.setdefault(each[0], set()).add(each[1])
    return len(inner) > 1 and all(
        any(name in names for other, names in inner.items() if other != outer for name in own)
        for outer, own in inner.items()
    )


def _unclear(path: Path, what: str) -> DataError:
    return DataError(
        f"{path} may be several things: {what}. Say which: --layout classes (CLASS/file), domains "
        f"(DOMAIN/CLASS/file or DOMAIN/file), imagenet-c (CORRUPTION/SEVERITY/CLASS/file) or unlabelled."
    )


def _misfit(path: Path, layout: Layout, why: str) -> DataError:
    forms = {
        "classes": "CLASS/file",
        "domains": "DOMAIN/CLASS/file or DOMAIN/file",
        "imagenet-c": "CORRUPTION/SEVERITY/CLASS/file, severities 1 to 5",
    }
    return DataError(f"{path} does not have the layout {layout} ({forms[layout]}): {why}.")


def _collection(
    path: Path,
    layout: Layout,
    files: Sequence[Found],
    names: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    domains: Sequence[str] | None = None,
) -> Collection:
    unknown = repeat(None)
    rows = [
        Row(each.key, each.key, each.size, label, domain)
        for each, label, domain in zip(files, names or unknown, domains or unknown, strict=False)
    ]
    return collected(path, layout, rows, classes)
