"""The tour: one small graph, run for real, and told in a terminal while it happens.

Read `page`, `narrator`, then `story`. Only the command line imports these rooms.
"""
