"""How good is a ranker: on held-out documents, along a stream, on judged queries?"""
