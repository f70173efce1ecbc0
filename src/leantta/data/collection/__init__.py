"""Images as people keep them: folders, lists and tars, opened without being read. Imports without torch."""
