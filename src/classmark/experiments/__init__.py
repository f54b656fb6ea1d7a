"""Which ranker is how good on what?"""
