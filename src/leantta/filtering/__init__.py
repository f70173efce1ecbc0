"""How shift filters are fitted to a model, and which of its layers have one."""
