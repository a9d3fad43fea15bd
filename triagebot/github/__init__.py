"""The GitHub edge: PyGithub in, records and named faults out."""
