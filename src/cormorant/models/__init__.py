"""Generative stories, and what distinguishes one model from the next."""
