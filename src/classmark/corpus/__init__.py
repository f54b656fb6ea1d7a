"""What is in the collection?"""
