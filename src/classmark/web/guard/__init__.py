"""Who comes in, by which door, and what is refused there?"""
