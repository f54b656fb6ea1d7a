"""Block coordinate ascent on the dual, with its gap."""
