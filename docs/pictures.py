"""The pictures of README and docs, drawn again from the results of all three studies.

make pictures      runs the studies, then this
"""

from __future__ import annotations

from pathlib import Path

from mindshare.figures import render, saved_figure
from mindshare.folders import read_folder

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
PICTURES = {  # name here → study, name there
    "building_blocks": ("building-blocks", "shares"),
    "building_blocks_all_layers": ("building-blocks", "shares_all_layers"),
    "system_or_maps": ("building-blocks", "system_or_maps"),
    "heads_maps_change": ("building-blocks", "heads_maps_change"),
    "using_maps": ("using-maps/glyphs", "looked_at_carried_used_delta_logprob"),
    "meaningless_tokens": ("meaningless-tokens", "profiles"),
    "meaningless_top": ("meaningless-tokens", "profiles_top"),
    "meaningless_panel": ("meaningless-tokens", "panel"),
    "meaningless_amplitude": ("meaningless-tokens", "map_amplitude"),
    "meaningless_retained": ("meaningless-tokens", "retained_by_layer"),
    "meaningless_text": ("meaningless-tokens", "text"),
    "meaningless_hidden": ("meaningless-tokens", "run_hidden"),
}
SCALE = 2  # sharp on a screen


def main() -> None:
    for name, (study, figure) in PICTURES.items():
        tables, manifest = read_folder(RESULTS / study, of_figures=True)
        entry = manifest["figures"][figure]
        spec = saved_figure(RESULTS / study, figure, entry, tables).spec
        path = HERE / "figures" / f"{name}.png"
        path.write_bytes(render.draw(spec).png(scale=SCALE))
        print(f"{path.relative_to(HERE.parent)}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
