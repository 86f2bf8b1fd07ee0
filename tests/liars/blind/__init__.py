"""Claims of done to judge: projects, scripted agents and the verdict that the documented rules give."""
