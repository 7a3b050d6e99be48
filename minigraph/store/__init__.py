"""What a graph remembers beyond its threads. Read `base`, then `memory`, then `sqlite`."""
