"""Tables of an insertion → charts: profiles of heads, maps of all heads, lines, coloured text.

profile_grid    original tokens without and with the run, and the whole sequence; one column a head
family_panel    two insertions, one column a model
response_map    layers × heads, one response number, labels as symbols
layer_lines     one number by layer, a line a condition or model
text_strip      the prompt's own text, coloured by what its tokens gain and lose
sweep_curves    response by length, text or place of the insertion
"""

from __future__ import annotations
