"""Methods: each file holds one agent, or the losses that several share."""
