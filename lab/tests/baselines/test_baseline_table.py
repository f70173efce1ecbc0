import pytest

from leantta.errors import SettingError
from leantta_lab.baselines.alpha_bn import AlphaBnConfig
from leantta_lab.baselines.cotta import CottaConfig
from leantta_lab.baselines.eata import EataConfig
from leantta_lab.baselines.methods import BASELINES, DEFAULT_PRESET, config_of
from leantta_lab.baselines.realistic_tta import RealisticTtaConfig
from leantta_lab.baselines.tent import TentConfig


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_has_the_default_preset(name):
    assert config_of(name, "", 10) == BASELINES[name].presets[DEFAULT_PRESET](10)


@pytest.mark.parametrize(
    ("text", "classes", "config"),
    [
        ("tent:", 10, TentConfig(learning_rate=1e-3)),
        ("tent:learning_rate=0.01", 10, TentConfig(learning_rate=0.01)),
        ("tent:recommended:beta1=0.8:seed=3", 10, TentConfig(beta1=0.8, seed=3)),
        ("alpha_bn:recommended:prior=2.5", 10, AlphaBnConfig(prior=2.5)),
        ("eata:paper", 10, EataConfig(learning_rate=2.5e-4, similarity=0.05, fisher_weight=2000.0)),
        ("eata:recommended", 2, EataConfig(similarity=0.4, fisher_weight=1.0)),
        ("eata:recommended", 10, EataConfig(similarity=0.4, fisher_weight=1.0)),
        ("eata:recommended", 100, EataConfig(similarity=0.1, fisher_weight=1.0)),
        ("eata:recommended", 1000, EataConfig(similarity=0.05, fisher_weight=2000.0)),
        ("cotta:paper", 10, CottaConfig(confidence=0.92)),
        ("cotta:paper:augmentations=4", 100, CottaConfig(confidence=0.72, augmentations=4)),
        ("cotta:recommended", 10, CottaConfig(optimizer="adam", train="all")),
        ("cotta:train=all", 10, CottaConfig(train="all")),
        ("realistic_tta:paper", 10, RealisticTtaConfig(momentum=1.0)),
        ("realistic_tta:paper-gradual", 10, RealisticTtaConfig(momentum=0.01)),
        ("realistic_tta:recommended", 10, RealisticTtaConfig(momentum=0.01)),
    ],
)
def test_a_text_names_settings(text, classes, config):
    name, _, rest = text.partition(":")
    assert config_of(name, rest, classes) == config


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("best", "no preset 'best'; its presets are paper, recommended"),
        ("rate=1", "cannot be told 'rate=1'; write field=value, one of seed, learning_rate"),
        ("paper:fast", "cannot be told 'fast'"),
        ("learning_rate=quick", "learning_rate takes a value of type float, got 'quick'"),
        ("seed=1.5", "seed takes a value of type int, got '1.5'"),
        ("learning_rate=-1", "learning_rate must be at least 0, got -1"),
    ],
)
def test_texts_that_mean_nothing_are_refused(text, words):
    with pytest.raises(SettingError, match=words):
        config_of("tent", text, 10)
