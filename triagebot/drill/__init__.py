"""The promise, tried on this machine: real processes race, die and come late on a ledger, in rows of their own."""
