"""Lists, creates, reads and reviews changes and plan files."""
