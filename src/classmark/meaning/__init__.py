"""What does this text mean, as numbers?"""
