"""Maps before and after one action, a model that learns to name it, and where it looks then."""
