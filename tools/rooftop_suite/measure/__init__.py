"""Measuring: the programs, the machine, and the commands that run them."""
