"""The first step of a model beside eager torch: what was measured is what was meant (POPVISION_CHECK)."""
