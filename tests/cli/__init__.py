"""The command line, command by command, on tiny real models."""
