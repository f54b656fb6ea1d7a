"""What did people say?"""
