"""Gates, as the engine runs them: when completion is claimed, compared with the baseline, and as proof."""
