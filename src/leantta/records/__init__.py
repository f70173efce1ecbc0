"""Records: what was run, on what, and how it is kept in files. Imports without torch."""
