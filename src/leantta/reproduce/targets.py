"""The table of what can be reproduced, by name."""

from collections.abc import Mapping

from leantta.reproduce import (
    figure_ablation,
    figure_distances,
    figure_heatmap,
    figure_scatter,
    figure_speeds,
    figure_statistics,
    table_birds,
    table_clean,
    table_fusion,
    table_mobilevit,
    table_motion,
    table_severity5,
    table_systems,
)
from leantta.reproduce.table_streams import TABLE_ABRUPT_GRADUAL, TABLE_BATCHES
from leantta.reproduce.target import Target

TARGETS: Mapping[str, Target] = {
    "table-abrupt-gradual": TABLE_ABRUPT_GRADUAL,
    "table-batches": TABLE_BATCHES,
    "table-severity5": table_severity5.TARGET,
    "table-systems": table_systems.TARGET,
    "table-fusion": table_fusion.TARGET,
    "table-mobilevit": table_mobilevit.TARGET,
    "table-clean": table_clean.TARGET,
    "table-birds": table_birds.TARGET,
    "table-motion": table_motion.TARGET,
    "figure-scatter": figure_scatter.TARGET,
    "figure-ablation": figure_ablation.TARGET,
    "figure-speeds": figure_speeds.TARGET,
    "figure-heatmap": figure_heatmap.TARGET,
    "figure-distances": figure_distances.TARGET,
    "figure-statistics": figure_statistics.TARGET,
}
