"""One file per format of demonstrations; each reads a path into `Demos`."""
