"""The shipped night and ledger in a world where time, threads, tracker and model obey a seed: one seed, one history."""
