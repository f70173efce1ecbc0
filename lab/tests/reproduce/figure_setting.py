"""A reproduction in an empty folder on the sample of images, and figures looked at as they are drawn."""

from pathlib import Path
from xml.etree import ElementTree

from matplotlib.axes import Axes

from leantta.plotting import Picture, digest_in, digest_of, new_figure
from leantta_lab.reproduce.target import Job, Setting


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


def axes_of(picture: Picture) -> list[Axes]:
    """Return the panels of a figure, drawn."""
    with new_figure(*picture.size) as figure:
        picture.draw(figure)
        figure.draw_without_rendering()
        return figure.axes


def words(picture: Picture) -> list[str]:
    """Return the texts of a figure; its file must be whole XML, with nothing outside of the frame."""
    svg = picture.drawn("svg").decode()
    assert digest_in(svg) == digest_of(picture.values)
    root = axes_of(picture)[0].get_figure(root=True)
    assert root is not None
    drawn, frame = root.get_tightbbox(), root.bbox_inches
    assert frame.x0 <= drawn.x0 < drawn.x1 <= frame.x1
    assert frame.y0 <= drawn.y0 < drawn.y1 <= frame.y1
    written = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in written]
