"""From decisions to rankers: training, models, and learning while people decide."""
