"""The plot of partial fusion of a record whose figures are known."""

import pytest

from leantta.errors import RecordError
from leantta.plotting import digest_in
from leantta_lab.measure.fusion_plot import fusion_picture
from measure.pictures import bars_in
from measure.records import fused, record, row


def test_the_plot_has_a_bar_for_each_row_in_proportion() -> None:
    rows = [
        *fused({"none": 2.0, "half": 3.0, "all": 4.0}, "ours"),
        *fused({"none": 10.0, "all": 40.0}, "torch <x86>"),
        row("ours-fp32", [[9.0]]),
    ]
    drawn = fusion_picture(record(*rows)).drawn("svg").decode()
    bars = bars_in(drawn)
    assert len(bars) == 10  # five rows, latency and ratio
    assert bars["latency ours-all"] == pytest.approx(bars["latency ours-none"] * 2, rel=0.01)
    assert bars["latency torch <x86>-all"] == pytest.approx(bars["latency ours-all"] * 10, rel=0.01)
    assert bars["ratio ours-half"] == pytest.approx(bars["ratio ours-none"] * 1.5, rel=0.01)
    for shown in ("4.00", "2.00", "40.00", "1.50x", "4.00x", "torch &lt;x86&gt;"):
        assert f">{shown}</text>" in drawn, shown
    for words in (
        "latency of a call in ms",
        "ratio to all fused, same engine",
        "half fused",
        "batch 1, 1 thread",
    ):
        assert words in drawn
    assert "<svg xmlns:xlink" in drawn


def test_a_plot_says_which_values_it_shows() -> None:
    slow, fast = (
        fusion_picture(record(*fused({"none": ms}, "ours"))).drawn("svg").decode() for ms in (2.0, 1.0)
    )
    assert digest_in(slow)
    assert digest_in(slow) != digest_in(fast)
    assert slow == fusion_picture(record(*fused({"none": 2.0}, "ours"))).drawn("svg").decode()


def test_without_such_rows_there_is_no_plot() -> None:
    with pytest.raises(RecordError, match="no rows of a model with layers fused and not"):
        fusion_picture(record(row("a.onnx", [[1.0]])))
