"""Golden journeys: what the commands and the Python doors gave before the redesign, pinned."""
