"""Watch what a model file sees in the field: is there drift, since when, and what does it look like?"""
