"""The command line: one command a file, each a thin wrapper over public functions."""
