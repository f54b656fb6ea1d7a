"""Which documents are alike?"""
