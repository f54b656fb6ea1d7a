"""Several people at once: the served project, jobs, agreement, progress."""
