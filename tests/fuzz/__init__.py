"""Hostile bytes for every decoder, guided by coverage (needs the `fuzz` extra)."""
