"""Options that several commands share, and how a change is named on the command line."""
