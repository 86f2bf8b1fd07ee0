"""Doubles for tests of loops, as a part of the product: use them for your own harness or set-up."""
