"""What does a project look like to people who work on it at the same time?"""
