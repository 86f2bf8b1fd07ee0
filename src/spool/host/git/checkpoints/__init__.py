"""Saves the working tree before an agent starts, and brings back every byte of it."""
