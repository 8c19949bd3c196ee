"""The kinds of control programs, and checks of their arguments."""
