"""Values to bytes and back. Start with `base`, the contract, then `jsonplus`, the default."""
