"""Which pages do others point to?"""
