"""For other projects' tests: programs inside emulated networks."""
