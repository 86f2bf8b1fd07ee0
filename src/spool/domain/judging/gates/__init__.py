"""Gates: the checks that Spool runs itself when the agent claims completion, and what they allow to be said."""
