"""Exchange: who sends how much to whom."""
