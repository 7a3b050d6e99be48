"""Caches: outputs of nodes, kept beside the graph and found by the node's input."""
