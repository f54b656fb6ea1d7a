"""One project directory: what is in it and what can be done with it?"""
