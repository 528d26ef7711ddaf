"""Models + prompts → measurements → statistics → figures; a chart and its tables stay together.

Charts join the two halves of mindshare: they measure with the left one, and hand tables to the
right one. Each module is imported by itself: one chart does not wait for the others' imports.
"""
