"""Memory: what is stored of a run, in which bytes, and where.

    serde/    values  ◀─▶ bytes         exact, or refused
    base/     the records, and what every saver must offer
    memory/   a saver that keeps the bytes in dicts
    sqlite/   a saver that keeps them in a file

Read them in this order. A *saver* stores checkpoints; a *checkpoint* is the state between
two super-steps; a *pending write* is what a task of the next super-step has already
produced. Together they are all that a run needs to go on after its process has died.
"""
