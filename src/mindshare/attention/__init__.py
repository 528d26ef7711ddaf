"""A model and encoded prompts → exact attention statistics, in one forward pass, without A.

    capture     the tensor-level door
    forward     runs the model, whole or in chunks, under a watcher
    chunks      may this model be fed in chunks?
    interface   transformers' attention interface ⇄ a watcher
    watcher     attention calls → what was seen in each layer
    choose      which kernel runs a call
    reference   float64, builds A: the definition of correctness
    fused       the vendor's kernel and two identities
    blockwise   row blocks: any mask, any device, the fast one on CPUs
    masks       who sees whom, a block of rows at a time
    expected    the same under uniform attention
    measures    what was seen → numbers per query set
    selfcheck   mindshare against the model's own eager attention

Kernels take an `AttentionCall` and a `Wanted` and give a `Found` (`call`); they never import each
other.
"""
