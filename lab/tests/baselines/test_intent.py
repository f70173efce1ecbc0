import numpy as np
import pytest
import torch

from baselines.two_layers import CLASSES, doubt, moments, run, scaled, source, stream, twin, two_layers
from leantta.errors import SettingError
from leantta_lab.baselines.intent import Intent, IntentConfig
from reference import assert_close


def expected(weights, x, steps):
    """Seven passes for each image alone: one to measure, one for each mix."""
    seen = {}

    def measuring(name, h):
        seen[name] = moments(h)
        return scaled(weights, name, h, *seen[name])

    run(weights, x, measuring)

    def with_mix(r):
        def norm(name, h):
            pairs = zip(source(weights, name), seen[name], strict=True)
            return scaled(weights, name, h, *((1 - r) * s + r * t for s, t in pairs))

        return run(weights, x, norm)[0][0]

    logits = [with_mix(i / steps) for i in range(steps + 1)]
    sureness = np.asarray([-doubt(z[None]).item() / np.log(CLASSES) for z in logits])
    weight = np.exp(sureness) / np.exp(sureness).sum()
    return sum(w * z.softmax(0).numpy() for w, z in zip(weight, logits, strict=True))


@pytest.mark.parametrize("steps", [5, 1])
def test_predictions_are_the_weighted_mean_over_mixes(steps):
    network = two_layers()
    weights = twin(network)
    intent = Intent(network, IntentConfig(steps=steps), classes=CLASSES)
    for x in stream(3, 1, 2):
        wanted = [expected(weights, torch.from_numpy(image[None]), steps) for image in x]
        assert_close(np.exp(intent.predict(x)), np.stack(wanted), atol=1e-5)


def test_the_answer_is_a_distribution():
    (x,) = stream(4)
    found = np.exp(Intent(two_layers(), IntentConfig(), classes=CLASSES).predict(x))
    assert_close(found.sum(1), np.ones(4), atol=1e-5)


def test_no_steps_are_refused():
    with pytest.raises(SettingError, match="steps must be at least 1, got 0"):
        IntentConfig(steps=0)
