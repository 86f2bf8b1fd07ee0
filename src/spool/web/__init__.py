"""The page: all loops of this machine in a browser, live. Needs the extra `[web]`; only `spool web` imports it."""
