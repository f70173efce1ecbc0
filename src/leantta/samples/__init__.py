"""A small model file and photographs that the package carries, for a first look.

`lab/benchmarks/sample_file.py` made them; card.md says of what.
"""

from pathlib import Path

FOLDER = Path(__file__).parent
