"""Starts loops: settings and spec, workspace, locks, runner, in this process or another."""
