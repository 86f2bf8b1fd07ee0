"""Spool runs a coding agent in a loop, unattended, until the work is really done."""

__version__ = "0.1.0"
