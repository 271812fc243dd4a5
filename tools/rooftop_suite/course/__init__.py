"""Lessons and exercises: what a teacher does with the ladders."""
