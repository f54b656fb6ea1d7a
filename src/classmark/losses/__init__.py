"""What does a violated group of preferences cost?"""
