"""The queue on Temporal: connection, workflows, submission and steering."""
