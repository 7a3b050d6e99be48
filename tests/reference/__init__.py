"""The oracle: minigraph and the reference run the same scenarios and must tell the same story.

```
generate ──▶ scenario ──▶ build ──┬─▶ a graph of the reference ──▶ transcript ──┐
(hypothesis)  (data)  (plain code) └─▶ a graph of minigraph ──────▶ transcript ──┴─▶ differences
```

Read `scenario` first: it is the language. ``python -m tests.reference`` runs it at length.
"""
