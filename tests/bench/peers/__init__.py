"""Our server beside others, which are no part of this project and have to be installed elsewhere."""
