"""Saves the working tree before an agent starts, and restores every byte of it."""
