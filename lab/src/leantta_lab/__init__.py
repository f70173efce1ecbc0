"""The laboratory of LeanTTA: the paper's models and data, other methods, training, every table and figure.

It plugs into the command `leantta` and into `leantta.pretrained` through the entry points of its
pyproject.toml.
"""

__version__ = "0.2.0"
