"""More documents like these: searches by example, and screening."""
