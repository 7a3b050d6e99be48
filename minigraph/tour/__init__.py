"""The tour: one small graph, run for real, and told in a terminal while it happens.

Read `page`, `narrator`, then `story`. Nothing else in the package imports these rooms.
"""
