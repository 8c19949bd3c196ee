"""`popvision watch`: a program that runs again at each save, and what each of its lines costs since."""
