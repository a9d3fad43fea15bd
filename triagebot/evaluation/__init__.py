"""How good the labels are: past issues replayed, counted and shown; whoever predicts is handed in."""
