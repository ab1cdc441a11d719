"""Scripts of the maintainers; run from the repository root as `python -m tools.NAME`."""
