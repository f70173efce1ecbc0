from collections.abc import Mapping
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "runtime" / "golden" / "format1.onnx"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The file that lies in the repository, and files of a network with sums and hard-swish."""
    from native.swish import convert_swish  # torch is only for those who ask

    folder = tmp_path_factory.mktemp("files")
    made = {
        precision: convert_swish(folder / f"{precision}.onnx", precision) for precision in ("int8", "fp32")
    }
    return {"golden": GOLDEN, **made}
