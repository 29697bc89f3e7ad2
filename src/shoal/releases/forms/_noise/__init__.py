"""Releases that noise makes, under differential privacy: counts, synthetic, randomised tables."""
