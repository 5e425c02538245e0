"""One file a revision, named after its number and its subject."""
