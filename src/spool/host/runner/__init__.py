"""Runner processes: identity, liveness and termination."""
