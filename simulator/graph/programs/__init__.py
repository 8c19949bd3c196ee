"""The kinds of control programs, and the checks of what they are given."""
