"""The GitHub edge: PyGithub in, records and named faults out.

`line` sends, `tracker` says what is asked for; everything known about GitHub's answers
(`wire`, `envelope`, `records`, `receipts`) is pure and takes status, headers and text.
"""
