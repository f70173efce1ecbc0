"""What is said of the machine is there, and looking loads nothing."""

import subprocess
import sys

from leantta.records.provenance import describe_machine, loaded_versions


def test_the_machine_is_described() -> None:
    machine = describe_machine()
    assert machine["cpu"]
    assert isinstance(machine["cores"], int)
    assert machine["cores"] >= 1
    assert sys.platform.lower() in str(machine["platform"]).lower()


def test_versions_are_of_what_is_loaded() -> None:
    script = "from leantta.records.provenance import loaded_versions; print(sorted(loaded_versions()))"
    alone = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert alone.strip() == "['leantta', 'python']"
    more = subprocess.run(
        [sys.executable, "-c", f"import numpy; {script}"], capture_output=True, text=True, check=True
    )
    assert more.stdout.strip() == "['leantta', 'numpy', 'python']"
    assert loaded_versions()["python"].startswith("3.")
