"""How small can a list of numbers be, and how fast can it be read again?"""
