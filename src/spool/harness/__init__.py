"""One module per agent CLI: an `Invocation` out, stream events in. Pure translators, tested from transcripts."""
