"""A classifier trained on the repository's own history: scikit-learn, and nothing of the other edges."""
