"""A model and encoded prompts → exact attention statistics, in one forward pass, without A.

jobs        what goes in and what comes out, as plain values: Job, Request, PromptResult
forward     jobs of one shape → one pass, whole or in chunks → each job's numbers
recorder    transformers' attention interface → kernels; what was found in each layer
call        the contract of the kernels, and the numbers made from a row of A, by name
masks       who sees whom, a block of rows at a time; uniform attention
reference   float64, builds A: the definition of correctness
fused       the vendor's kernel and two identities
blockwise   row blocks: any mask, any device, the fast one on CPUs
threads     the same bits on any number of threads
rescaling   two passes compared: how much of A' is A, rescaled
checks      what is asked of a model once: exact? may prompts share a pass?
capture     the tensor-level door
chunks      a prompt fed in pieces; beginnings that prompts share

knockout    a job with an answer → what it loses with each class of keys hidden
            by interventions (which edges), rows (that share keys), screen (first order), effects
"""
