"""Agents: what they are asked, what they say, whether they are signed in, and what their sandbox allows."""
