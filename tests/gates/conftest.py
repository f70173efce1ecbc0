import pytest

from gates.fitting import fitted
from gates.striped import GOOD, Striped, given, pixels, striped
from leantta.disturbances.copies import Disturbances, disturbances_of
from leantta.surgery.plan import Plan


@pytest.fixture(scope="session")
def model() -> Striped:
    return striped()


@pytest.fixture(scope="session")
def camera() -> Disturbances:
    found = disturbances_of(given(pixels(2)), **GOOD)
    assert found is not None
    return found


@pytest.fixture(scope="session")
def plan(model: Striped, camera: Disturbances) -> Plan:
    return fitted(model, given(pixels()), camera)
