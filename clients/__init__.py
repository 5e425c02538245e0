"""Programs that speak the protocol and know no rules: SDKs, and players for terminal and web."""
