"""What happens in a night: open, sweep, reconcile, triage, deliver, close. No third-party import."""
