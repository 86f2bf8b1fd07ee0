"""Commands that watch and stop loops."""
