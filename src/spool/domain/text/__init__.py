"""Text, durations, moments and sizes: reading, cleaning and formatting."""
