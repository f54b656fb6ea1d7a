"""Odds: the multinomial log-linear loss by its dual."""
