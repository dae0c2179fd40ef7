"""Figures and alerts of a project, computed from its run history and its state, and the outlets that carry them."""
