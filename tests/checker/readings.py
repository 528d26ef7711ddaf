"""Three descriptions of one published chart, by three readers who do not agree: what they state."""

FIRST = """\
## Stacked Bar Chart: Attention Distribution by Token Type Across Model Layers
### Components/Axes
* Red square: `# (Hash)`
* Blue square: `* (Star)`
* **Y-Axis:** Labeled "Total Attention (Sum)". The scale runs from 0.00 to 0.10, with major tick \
marks at 0.00, 0.02, 0.04, 0.06, 0.08, and 0.10.
* **Layer 0:** Leftmost group. Bars for "Qwen-Phys" and "Qwen-Instruct".
### Detailed Analysis
**Layer 0:**
* **Qwen-Phys:** Total height ~0.098. Composition (bottom to top): Whitespace ~0.030, Star (blue) \
~0.042 (reaching ~0.072), Hash (red) ~0.026 (reaching ~0.098).
* **Qwen-Instruct:** Total height ~0.112 (the tallest bar in the chart). Composition: Whitespace \
~0.029, Star ~0.051 (reaching ~0.080), Hash ~0.032 (reaching ~0.112).
* **Trend:** Both models show high total attention in the first layer.
**Layer 16:**
* **Qwen-Phys:** Total height ~0.075. Composition: Whitespace ~0.012, Star ~0.055 (reaching ~0.067)\
, Hash ~0.008 (reaching ~0.075).
* **Qwen-Instruct:** Total height ~0.029. Composition: Whitespace ~0.012, Star ~0.017 (reaching \
~0.029), Hash ~0.000 (no visible red segment).
**Layer 20:**
* **Qwen-Phys:** Total height ~0.079. Composition: Whitespace ~0.022, Star ~0.030 (reaching ~0.052)\
, Hash ~0.027 (reaching ~0.079).
* **Qwen-Instruct:** Total height ~0.021. Composition: Whitespace ~0.002, Star ~0.011 (reaching \
~0.013), Hash ~0.008 (reaching ~0.021).
### Key Observations
4. **Whitespace Role:** The gray Whitespace component is a stable, non-trivial base layer of \
attention in all bars, typically ranging between 0.01 and 0.03.
"""

SECOND = """\
\\n
## Stacked Bar Chart: Attention Distribution Across Layers
### Components/Axes
* **Y-axis:** Labeled "Total Attention (Sum)", with a scale ranging from 0.00 to 0.10.
### Detailed Analysis
Let's analyze each layer and condition:
**Layer 0:**
* **Qwen-Phys:** Total attention is approximately 0.095. The stack consists of:
* # (Hash): ~0.055
* * (Star): ~0.035
* Whitespace: ~0.005
* **Qwen-Instruct:** Total attention is approximately 0.105. The stack consists of:
* # (Hash): ~0.075
* * (Star): ~0.025
* Whitespace: ~0.005
**Layer 16:**
* **Qwen-Phys:** Total attention is approximately 0.07. The stack consists of:
* # (Hash): ~0.04
* * (Star): ~0.025
* Whitespace: ~0.005
* **Qwen-Instruct:** Total attention is approximately 0.03. The stack consists of:
* # (Hash): ~0.015
* * (Star): ~0.01
* Whitespace: ~0.005
**Layer 20:**
* **Qwen-Phys:** Total attention is approximately 0.04. The stack consists of:
* # (Hash): ~0.02
* * (Star): ~0.015
* Whitespace: ~0.005
"""

THIRD = """\
## Bar Chart: Layer-wise Attention Distribution in Qwen-Phys and Qwen-Instruct Models
### Overview
The y-axis measures "Total Attention (Sum)" in normalized units (0.00–0.10).
### Detailed Analysis
#### Layer 0
- **Qwen-Phys**:
- Hash (~0.03), Star (~0.05), Whitespace (~0.02) → Total ~0.10
- **Qwen-Instruct**:
- Hash (~0.05), Star (~0.03), Whitespace (~0.02) → Total ~0.10
#### Layer 16
- **Qwen-Phys**:
- Hash (~0.01), Star (~0.06), Whitespace (~0.01) → Total ~0.08
- **Qwen-Instruct**:
- Hash (~0.01), Star (~0.02), Whitespace (~0.01) → Total ~0.04
#### Layer 20
- **Qwen-Phys**:
- Hash (~0.03), Star (~0.04), Whitespace (~0.01) → Total ~0.08
### Key Observations
1. **Layer 0 Dominance**: Both models show near-maximum attention (~0.10) in Layer 0.
2. **Layer 16 Shift**: Qwen-Phys allocates ~60% of attention to Star mechanisms, while \
Qwen-Instruct drops to ~20%.
### Interpretation
- Whitespace attention remains consistently low (<0.03) across all layers.
"""

TEXTS = {"first": FIRST, "second": SECOND, "third": THIRD}
