"""How much does this term say?"""
