"""The command line: click commands, and the one place where the parts are put together."""
