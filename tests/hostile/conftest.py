collect_ignore = ["fuzz_readers.py"]  # it needs atheris, which is none of our requirements
