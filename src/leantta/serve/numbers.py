"""The numbers of the server itself for Prometheus: what waits, what is remembered, which versions answer."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from leantta.serve.models import Models
from leantta.serve.tally import collected


class ServerNumbers(Collector):
    """Reads the models when Prometheus asks."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def collect(self) -> Iterator[Metric]:
        """Give all numbers."""
        queue = GaugeMetricFamily("leantta_queue_length", "Requests that wait.", labels=["model"])
        streams = GaugeMetricFamily("leantta_streams", "Streams that are remembered.", labels=["model"])
        info = GaugeMetricFamily(
            "leantta_model_info", "The version that answers.", labels=["model", "version"]
        )
        for version in self._models.versions():
            queue.add_metric([version.name], version.worker.waiting)
            streams.add_metric([version.name], version.worker.streams)
            info.add_metric([version.name, version.short], 1)
        reloads = CounterMetricFamily("leantta_reloads", "Files that were replaced.", labels=["result"])
        reloads.add_metric(["taken"], self._models.reloads)
        reloads.add_metric(["refused"], self._models.failed_reloads)
        yield from (queue, streams, info, reloads)
        yield from collected(self._models.tallies.values())
