"""The table of what can be reproduced, by name."""

from collections.abc import Mapping

from leantta_lab.reproduce import (
    figure_ablation,
    figure_distances,
    figure_filter,
    figure_heatmap,
    figure_scatter,
    figure_statistics,
    fusion,
    table_filter,
    table_systems,
)
from leantta_lab.reproduce.paper_tables import (
    TABLE_ABRUPT_GRADUAL,
    TABLE_BATCHES,
    TABLE_CLEAN,
    TABLE_MOBILEVIT,
    TABLE_SEVERITY5,
)
from leantta_lab.reproduce.sensor_tables import TABLE_BIRDS, TABLE_MOTION
from leantta_lab.reproduce.table_imagenet import TABLE_IMAGENET
from leantta_lab.reproduce.target import Target

TARGETS: Mapping[str, Target] = {
    "table-abrupt-gradual": TABLE_ABRUPT_GRADUAL.target(),
    "table-batches": TABLE_BATCHES.target(),
    "table-severity5": TABLE_SEVERITY5.target(),
    "table-systems": table_systems.TARGET,
    "table-fusion": fusion.TABLE,
    "table-mobilevit": TABLE_MOBILEVIT.target(),
    "table-clean": TABLE_CLEAN.target(),
    "table-filter": table_filter.TARGET,
    "table-birds": TABLE_BIRDS.target(),
    "table-motion": TABLE_MOTION.target(),
    "table-imagenet": TABLE_IMAGENET.target(),
    "figure-scatter": figure_scatter.TARGET,
    "figure-ablation": figure_ablation.TARGET,
    "figure-speeds": fusion.FIGURE,
    "figure-heatmap": figure_heatmap.TARGET,
    "figure-distances": figure_distances.TARGET,
    "figure-filter": figure_filter.TARGET,
    "figure-statistics": figure_statistics.TARGET,
}
