"""Who may do what, and what was done: claims, verdicts, the outbox, the pace. Raw SQL in `sql/`."""
