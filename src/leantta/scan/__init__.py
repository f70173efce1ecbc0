"""A model file over an archive: every input once, in Parquet; in this process or on a Ray cluster."""
