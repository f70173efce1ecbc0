"""Images and streams to test on: data sets, corruptions, image files. Imports without torch."""
