"""The service: the authority for every session."""
