"""Tests of the gates' side of the machine."""
