"""Schemes (structured, mean field) on one loop, `fit.run`."""
