"""A model on the user's own images: does adapting help it, what does it cost, which setting to take."""
