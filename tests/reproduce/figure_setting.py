"""A reproduction in an empty folder on the sample of images, and figures looked at as XML."""

from pathlib import Path
from xml.etree import ElementTree

from leantta.reproduce.target import Job, Setting


def setting_in(folder: Path, sample: Path) -> Setting:
    return Setting(
        scale="quick", images={"cifar10": sample}, records=folder / "records", work=folder / "work"
    )


def run_all(jobs: list[Job], setting: Setting) -> list[tuple[int, int]]:
    """Run what is not done, one after another, and return the progress that was told."""
    told: list[tuple[int, int]] = []
    for job in jobs:
        if not job.done(setting):
            job.run(setting, lambda done, total: told.append((done, total)))
        assert job.done(setting), job.name
    return told


def words(svg: str) -> list[str]:
    """Return the texts of a figure; it must be whole XML, with nothing outside of its frame."""
    root = ElementTree.fromstring(svg)
    width, height = (float(root.attrib[side]) for side in ("width", "height"))
    found = []
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 <= float(text.attrib["x"]) <= width
        assert 0 <= float(text.attrib["y"]) <= height
        found.append(text.text or "")
    return found


def marks(svg: str, kind: str) -> list[dict[str, str]]:
    """Return the attributes of all marks of a kind: polyline, circle, rect, polygon."""
    return [each.attrib for each in ElementTree.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{kind}")]
