"""What a newcomer types, from the shell, on the embedded model."""
