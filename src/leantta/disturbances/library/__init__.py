"""Disturbances to fit on, of any strength, in torch: never those that we report on."""
