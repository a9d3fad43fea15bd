"""What `doctor` makes of what was found: pure checks, from facts to findings that name the mend. No I/O."""
