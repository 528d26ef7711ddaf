"""Speed and memory of mindshare against the plain forward pass and plain `output_attentions`.

`python -m bench` runs everything and writes docs/performance.md. Ratios come from one process with
interleaved runs; peak memory from a process of its own for each case.
"""
