"""The commands that the laboratory adds to `leantta`: one a file, each a thin wrapper."""
