"""What triagebot knows and decides, without I/O: standard library only, no clock, no network, no files."""
