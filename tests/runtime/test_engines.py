"""What each engine must do: the contract runs over the table, so a new engine is tested at once."""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from leantta.cli.run import engine_option
from leantta.errors import ArtifactError, MissingExtraError, SettingError
from leantta.runtime.engines import ENGINES, Port, open_engine
from leantta.runtime.session import load
from runtime.artifacts import artifact

PIXELS = np.random.default_rng(1).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def portable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return artifact(tmp_path_factory.mktemp("engines") / "a.onnx", kind="image", inlined=True)


def test_the_command_line_offers_the_table() -> None:
    def command() -> None: ...

    parameter = engine_option(command).__click_params__[0]  # type: ignore[attr-defined]  # click adds it
    assert list(parameter.type.choices) == list(ENGINES)


@pytest.mark.parametrize("name", ENGINES)
def test_ports_are_told(name: str, portable: Path) -> None:
    engine = open_engine(name, portable)
    assert engine.inputs == (Port("input", "uint8", (None, 8, 8, 3)),)
    outputs = {port.name: port for port in engine.outputs}
    assert list(outputs) == ["logits", "distance", "shift"]
    assert outputs["logits"] == Port("logits", "float32", (None, 4))


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("threads", [None, 1, 2])
def test_engines_compute_what_onnxruntime_computes(name: str, threads: int | None, portable: Path) -> None:
    plain = onnxruntime.InferenceSession(str(portable))
    engine = open_engine(name, portable, threads=threads)
    for count in (1, 2, 5):
        wanted = dict(
            zip(("logits", "distance", "shift"), plain.run(None, {"input": PIXELS[:count]}), strict=True)
        )
        found = engine.run(PIXELS[:count])
        assert set(found) == set(wanted)
        for output, values in wanted.items():
            assert found[output].dtype == np.float32
            np.testing.assert_allclose(found[output], values, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ENGINES)
def test_outputs_belong_to_the_caller(name: str, portable: Path) -> None:
    engine = open_engine(name, portable)
    first = engine.run(PIXELS[:1])["logits"]
    copy = first.copy()
    engine.run(PIXELS[1:2])
    np.testing.assert_array_equal(first, copy)


@pytest.mark.parametrize("name", ENGINES)
def test_a_closed_engine_says_so(name: str, portable: Path) -> None:
    engine = open_engine(name, portable)
    engine.close()
    with pytest.raises(SettingError, match="closed"):
        engine.run(PIXELS)


@pytest.mark.parametrize("name", ENGINES)
def test_what_cannot_be_loaded_or_run_is_one_line(name: str, portable: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(portable.read_bytes()[:600])
    with pytest.raises(ArtifactError, match=r"cannot load .*bad\.onnx: .") as caught:
        open_engine(name, tmp_path / "bad.onnx")
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)
    with pytest.raises(ArtifactError, match="cannot run"):
        open_engine(name, portable).run(PIXELS[:, :4])


def test_openvino_names_the_operator_it_lacks(tmp_path: Path) -> None:
    path = artifact(tmp_path / "a.onnx")
    with pytest.raises(ArtifactError, match=r"ToyNorm.*convert with --portable"):
        load(path, engine="openvino")


def test_settings_are_looked_at(portable: Path) -> None:
    with pytest.raises(
        SettingError,
        match="no engine is called 'tvm'; the engines are onnxruntime, onnxruntime-portable, openvino",
    ):
        open_engine("tvm", portable)
    with pytest.raises(SettingError, match="threads must be 1 or more, got 0"):
        open_engine("onnxruntime", portable, threads=0)
    with pytest.raises(SettingError, match=r"'Nothing' is not there; this ONNX Runtime has .*CPUExecution"):
        open_engine("onnxruntime", portable, providers=["Nothing"])
    with pytest.raises(SettingError, match="no provider is named"):
        open_engine("onnxruntime", portable, providers=[])
    with pytest.raises(SettingError, match="a list of names"):
        open_engine("onnxruntime", portable, providers="CPUExecutionProvider")
    with pytest.raises(SettingError, match="OpenVINO takes none"):
        open_engine("openvino", portable, providers=["CPUExecutionProvider"])
    open_engine("onnxruntime", portable, providers=["CPUExecutionProvider"])


def test_threads_reach_onnxruntime(portable: Path) -> None:
    engine = open_engine("onnxruntime", portable, threads=3)
    assert engine._session.get_session_options().intra_op_num_threads == 3  # type: ignore[attr-defined]


def test_a_missing_engine_names_the_line_that_brings_it(
    portable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'leantta\[openvino\]'"):
        open_engine("openvino", portable)
