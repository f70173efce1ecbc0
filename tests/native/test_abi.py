"""What native/ort_abi.h says of ONNX Runtime's C interface: against stored facts, and against its header."""

import os
import re
from pathlib import Path

import pytest

from native.ort_header import FACTS, OURS, differences, parse_facts, parse_header, parse_ours

HEADERS = (
    Path("/usr/include/onnxruntime/onnxruntime_c_api.h"),  # Debian's libonnxruntime-dev
    Path("/usr/local/include/onnxruntime/onnxruntime_c_api.h"),
    Path("/usr/include/onnxruntime/core/session/onnxruntime_c_api.h"),
)
SMALL = """
typedef enum OrtErrorCode { ORT_OK, ORT_FAIL, ORT_LATER = 9, ORT_LAST } OrtErrorCode;
typedef enum ONNXTensorElementDataType { ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED } ONNXTensorElementDataType;
enum OrtCustomOpInputOutputCharacteristic { INPUT_OUTPUT_REQUIRED = 0 };
struct OrtApi {
  /// @{
  /** Says why; has a semicolon. */
  OrtErrorCode(ORT_API_CALL* Why)(_In_ const OrtStatus* status) NO_EXCEPTION ORT_ALL_ARGS_NONNULL;
  ORT_CLASS_RELEASE(Env);
  /** \\since Version 1.17. */
  ORT_API2_STATUS(Each, _In_reads_(n) const size_t* sizes, size_t n, _In_ void (*fn)(void*, size_t),
                  _Out_ enum OrtErrorCode* out);
  ORT_API_T(const char*, Entry, _In_ const OrtEnv* env);
};
struct OrtCustomOp {
  uint32_t version;  // a note
  OrtStatusPtr(ORT_API_CALL* Run)(_In_ const struct OrtCustomOp* op, _In_ OrtShapeInferContext*);
};
"""


def header() -> Path:
    named = os.environ.get("ORT_C_API_HEADER")
    for path in [Path(named)] if named else HEADERS:
        if named or path.is_file():
            return path
    pytest.skip("no onnxruntime_c_api.h here; name one in ORT_C_API_HEADER")


def test_ours_agrees_with_the_facts():
    assert differences(parse_ours(OURS.read_text()), parse_facts(FACTS.read_text())) == []


def test_the_facts_agree_with_the_header():
    assert differences(parse_facts(FACTS.read_text()), parse_header(header().read_text())) == []


def test_every_call_is_there_in_the_oldest_version_that_the_kernel_takes():
    text = OURS.read_text()
    oldest = re.search(r"kOldestApi = (\d+)", text)
    facts = parse_facts(FACTS.read_text())
    newest_call = max(facts.api[position].since for position in parse_ours(text).api)
    assert oldest is not None
    assert newest_call == int(oldest[1])


def test_the_facts_have_a_type_for_every_call():
    facts = parse_facts(FACTS.read_text())
    assert all(facts.api[position].type for position in parse_ours(OURS.read_text()).api)


@pytest.mark.parametrize(
    ("text", "other", "message"),
    [
        (">(85)", ">(86)", "KernelInfoGetAttribute_float"),
        (">(27)", ">(28)", "AddCustomOpDomain"),
        ("(*GetMayInplace)", "(*GetAliasMap)", "field 22 of OrtCustomOp"),
        ("kUint8 = 2", "kUint8 = 3", "ElementType UINT8 is 2, not 3"),
    ],
)
def test_a_wrong_position_is_reported(text: str, other: str, message: str):
    source = OURS.read_text()
    assert text in source
    assert other in source or "=" in other
    swapped = source.replace(text, "\0").replace(other, text).replace("\0", other)
    reported = differences(parse_ours(swapped), parse_facts(FACTS.read_text()))
    assert any(message in line for line in reported)


def test_a_wrong_type_is_reported():
    wrong = OURS.read_text().replace("const char*, float*)>(85)", "const char*, double*)>(85)")
    (reported,) = differences(parse_ours(wrong), parse_facts(FACTS.read_text()))
    assert "float*" in reported
    assert "double*" in reported


def test_a_call_without_a_name_is_refused():
    with pytest.raises(ValueError, match="position 26"):
        parse_ours(OURS.read_text().replace("// CreateCustomOpDomain\n", "\n"))


def test_a_header_is_read_as_a_compiler_would():
    small = parse_header(SMALL)
    assert [tuple(slot) for slot in small.api.values()] == [
        ("Why", "int (const OrtStatus*)", 0),
        ("ReleaseEnv", "void (OrtEnv*)", 0),
        ("Each", "OrtStatus* (const size_t*, size_t, void (*)(void*, size_t), int*)", 17),
        ("Entry", "const char* (const OrtEnv*)", 0),
    ]
    assert [slot.name for slot in small.custom_op] == ["version", "Run"]
    assert small.custom_op[1].type == "OrtStatus* (const OrtCustomOp*, OrtShapeInferContext*)"
    assert small.enums["ErrorCode"] == {"OK": 0, "FAIL": 1, "LATER": 9, "LAST": 10}
