"""The page of a program that is run again at each save (`popvision watch`)."""
