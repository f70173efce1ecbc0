"""Methods that can be evaluated by name: no adaptation, and LeanTTA."""
