"""What a run of meaningless tokens does to attention, on word problems."""
