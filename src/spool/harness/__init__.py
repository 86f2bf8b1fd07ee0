"""One module per agent CLI, which builds its argv and translates its output. No I/O; tested with transcripts."""
