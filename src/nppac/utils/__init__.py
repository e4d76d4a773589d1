"""Files, locks, progress, imports, errors and provenance: what every package may use."""
