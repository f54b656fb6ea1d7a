"""What is the score of this item, and of this preference?"""
