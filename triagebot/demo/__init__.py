"""A play for people who doubt the promise: faults on the embedded parts, triagebot beside a bot without a ledger."""
