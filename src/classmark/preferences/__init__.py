"""Who should be above whom, and by how much?"""
