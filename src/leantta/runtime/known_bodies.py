"""The digests of the functions that LeanTTA writes and has written, by name: the table of `runtime.bodies`.

The first is that of the function as it is written now, the second that for layers with dead channels; what
follows is of earlier versions. A test compares the table with what is written, and with the golden files.
"""

from collections.abc import Mapping

WITH_DEAD = 1
"""Which of the digests is that of the form for layers with dead channels, where there are two."""

KNOWN: Mapping[str, tuple[str, ...]] = {
    "AdaptiveNorm": (
        "67aee772c53585ca4df987ccf1e58443",
        "7cbd64cae7428c601f99c92aed2d2a63",
    ),
    "QLinearAdaptiveNorm": (
        "66b110118d54f3b70daee96485aa2ef5",
        "e098fba1e25457a1ef2bcfbbfbcac70b",
        "ecf0a5efa69255dc5fbd81c8632d0bb1",
    ),
    "QLinearAdaptiveNormHardSwish": (
        "b291c9af12b64ee458fd8e2f47ddbb32",
        "b5a29e41e0f4e7d346aa51290320a341",
        "f0bcbd9a1610f85fd866ac64e23352ce",
    ),
    "QLinearAdaptiveNormAdd": (
        "317fd30b711ee7ec38251fd86e574868",
        "805b2d87aff6aa08cf770c3fdb1d345e",
        "244d9e7f27aca2a81603e57ab35b4000",
    ),
    "QLinearAdaptiveNormAddHardSwish": (
        "4774a8c78d2e8814d750badbbe0b01ce",
        "829751a3565cb7fa558760a6c665ceab",
        "e1d75ed183829538807e4d2224de77d7",
    ),
    "CalibratedNorm": (
        "751e99074c2ec90c9e0c48882d8a3276",
        "fa2e8cad6c5cb406041cbfc2393bbd1f",
    ),
    "QLinearCalibratedNorm": (
        "4923965f50b0cb6bcea1b45dd57ff607",
        "b5dade1c2218c4e063a5b7cc49647fac",
        "471daf0faaaf47b3a2a4cec0794050fb",
    ),
    "QLinearCalibratedNormHardSwish": (
        "81ce252b1ac4d2949a3c951cb115384d",
        "f0350013891d9a0e53e38a47a810167a",
        "ac3d89ba623d4349a570bb554557c9b4",
    ),
    "QLinearCalibratedNormAdd": (
        "6e87e7f0f4e51d8ef69bb47b5ce32ffa",
        "0709ceb85f12f9148ed22bbc4809f958",
        "245e6d018366b5804f172b1521a28101",
    ),
    "QLinearCalibratedNormAddHardSwish": (
        "b3784daa0f83813e44cce95758c4a354",
        "7983e78010592073d33e9dc33d1488d2",
        "f1ed8f7e781d7582083d757ee1750df8",
    ),
    "FilterNorm": (
        "ddd375abcddd23e79e6666bdaefa11d9",
        "491e8e548f99a5cc4db0f6db33fecfe7",
    ),
    "QLinearFilterNorm": (
        "5530ee3509f3779d6d637dd42f07ea81",
        "6b81ae76146109bfa709926e5a126d5c",
    ),
    "QLinearFilterNormHardSwish": (
        "17f98f45803421c438da837c2c155398",
        "a3ca2d055d365a5afcb4d5c227829ae1",
    ),
    "QLinearFilterNormAdd": (
        "742dfd5d293850ccbeefccf6b2eae0f3",
        "bd2b7a3a0fce9d1aff116c3f464f14a9",
    ),
    "QLinearFilterNormAddHardSwish": (
        "fb1c0d6a7a6c5c85721027ea408e722d",
        "8a81d27e21a3723e10541f5f9043d426",
    ),
    "DomainFilterNorm": (
        "79ee82b3e46f5a73b920ff2a43d08ced",
        "b6a4577a73aa3dcd07a63754fa7aa42d",
    ),
    "QLinearDomainFilterNorm": (
        "dd4243360e6a443eb08d3e3a9fd1406a",
        "ee99d1e9575c388ff5d72123727fe414",
    ),
    "QLinearDomainFilterNormHardSwish": (
        "04b695eb2abd68219bfe8598b2899bab",
        "831f9dfe5929f725c88986cfb315a2ee",
    ),
    "QLinearDomainFilterNormAdd": (
        "3d9b48629364a5cf3eb03e38172db603",
        "31c33d1a4fa81d5d8a312c674ad012bd",
    ),
    "QLinearDomainFilterNormAddHardSwish": (
        "5224eadba2855f70a9207ee941c2233a",
        "366ba60341224df07931072ca762bdc0",
    ),
    "QLinearDepthwise": ("f316dbcd5351d9fb0cbcc40d9292c458",),
    "ShiftOfDistances": ("42917ba1bf1fa4db6e5129c05b00e0a5",),
}
