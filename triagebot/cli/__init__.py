"""Argv, environment, config file, wiring, printing and exit codes: the only room that touches the process."""
