"""Several people at once: the served project, presence, jobs, agreement, progress."""
