"""A model whose layers remember the stream, as a `Predictor`."""

from leantta.methods.torch_predictor import TorchPredictor
from leantta.nn import forget


class StreamPredictor(TorchPredictor):
    """Runs a model that remembers: what it says of an input depends on those before it."""

    stateless = False

    def reset(self) -> None:
        """Let the layers forget."""
        forget(self.model)
