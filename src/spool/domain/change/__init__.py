"""Changes, the written units of work: stories, tasks, plan files, and where a change is worked on."""
