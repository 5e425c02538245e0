"""The methods of the protocol: for each its params, its result, and the one call that carries it out."""
