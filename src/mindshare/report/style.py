"""How a report looks on a screen, on a phone, in the dark and on paper: its style sheet.

Charts stay on white paper, as their words say; in the dark it is dimmed.
"""

from __future__ import annotations

_LIGHT = """
  color-scheme: light;
  --ground: #ffffff; --ink: #1d1f23; --faint: #565b64; --line: #d9dce1; --soft: #f4f5f7;
  --link: #0b57d0; --focus: #0b57d0; --lamp: none;
"""
_DARK = """
  color-scheme: dark;
  --ground: #16181c; --ink: #e8eaed; --faint: #a9afb9; --line: #3a3f47; --soft: #22252b;
  --link: #8ab4f8; --focus: #8ab4f8; --lamp: brightness(.84);
"""
# One style of line for each colour: colours are never the only difference.
_LINES = ("solid", "dashed", "dotted", "double")
_KINDS = "\n".join(
    f".k{i} {{ background: var(--k{i}); color: var(--i{i}); "
    f"border-bottom: 3px {_LINES[i % 4]} var(--l{i}); }}"
    for i in range(12)
)

STYLE = (
    f":root {{ {_LIGHT} }}\n"
    "@media screen and (prefers-color-scheme: dark) "
    f"{{ :root:not([data-theme=light]) {{ {_DARK} }} }}\n"
    f"@media screen {{ :root[data-theme=dark] {{ {_DARK} }} }}\n"
    """
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; font: 16px/1.55 system-ui, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
  color: var(--ink); background: var(--ground); }
.page { max-width: 78rem; margin: 0 auto; padding: 0 1.5rem 4rem;
  display: grid; grid-template-columns: 13rem minmax(0, 1fr); column-gap: 3rem; }
header { grid-column: 1 / -1; padding: 2rem 0 1.2rem; border-bottom: 1px solid var(--line);
  margin-bottom: 1.5rem; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .5rem; max-width: 46rem;
  text-wrap: balance; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .7rem; padding-top: .4rem; }
h3 { font-size: 1.1rem; margin: 1.9rem 0 .5rem; } h4 { font-size: 1rem; margin: 1.5rem 0 .4rem; }
main > section:first-of-type > h2 { margin-top: 0; }
.chapter > h2 { border-top: 3px solid var(--ink); padding-top: .9rem; }
p, li, dd { max-width: 46rem; overflow-wrap: anywhere; }
p, ul { margin: .5rem 0 .8rem; } ul { padding-left: 1.3rem; } li { margin: .3rem 0; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100rem; background: var(--ground); color: var(--link);
  padding: .6rem 1rem; z-index: 2; }
.skip:focus { left: 1rem; top: 1rem; }
.tools { float: right; margin: 0 0 .5rem 1rem; }
button { font: inherit; font-size: .9rem; color: var(--ink); background: var(--soft);
  border: 1px solid var(--line); border-radius: .4rem; padding: .35rem .8rem; cursor: pointer; }
nav { position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem);
  overflow-y: auto; font-size: .92rem; }
nav h2 { font-size: .92rem; margin: 0 0 .4rem; padding: 0; color: var(--faint); }
nav ol { list-style: none; margin: 0; padding: 0; } nav li { margin: 0; }
nav a { display: block; padding: .25rem 0; color: var(--ink); text-decoration: none; }
nav a:hover { text-decoration: underline; } nav ol ol { padding-left: .9rem; }
nav ol ol ol a { color: var(--faint); font-size: .85rem; line-height: 1.3; }
nav details { border: 0; background: none; margin: 0 0 .6rem; }
nav summary { padding: .1rem 0; color: var(--faint); }
figure { margin: .4rem 0 .8rem; }
.shown { display: flex; gap: 0 1.6rem; align-items: flex-start; } .shown.wide { display: block; }
.shown figure { flex: none; max-width: 100%; } .words { flex: 1 1 0; min-width: 0; }
.words p:first-child { margin-top: .3rem; }
.paper, .prompt { border: 1px solid var(--line); border-radius: .5rem; padding: .6rem; }
.paper { color-scheme: light; background: #ffffff; color: #1d1f23; filter: var(--lamp);
  width: fit-content; max-width: 100%; }
.scroll { overflow: auto; max-width: 100%; outline-offset: -3px; }
.scroll:focus-visible { outline-offset: -3px; }
.scroll[data-more] { mask-image: linear-gradient(to right, var(--from, #000), #000 2.2rem,
  #000 calc(100% - 2.2rem), var(--to, #000)); }
.scroll[data-more~=left] { --from: transparent; } .scroll[data-more~=right] { --to: transparent; }
.chart { position: relative; width: var(--wide); } .chart svg { display: block; width: 100%;
  height: auto; }
.chart[data-state=failed] { color: #a4262c; }
img { max-width: 100%; height: auto; display: block; }
details { margin: .5rem 0; border: 1px solid var(--line); border-radius: .5rem;
  background: var(--soft); max-width: 100%; }
summary { padding: .45rem .8rem; cursor: pointer; }
details > .inside { padding: 0 .8rem .6rem; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
.numbers { max-height: 40rem; border: 1px solid var(--line); border-radius: .4rem;
  background: var(--ground); margin: .6rem 0 1rem; width: fit-content; }
caption { text-align: left; color: var(--faint); padding: .5rem .7rem; position: sticky; left: 0;
  max-width: 46rem; }
th, td { padding: .22rem .7rem; text-align: right; white-space: nowrap; font-weight: normal;
  border-top: 1px solid var(--line); }
thead th { position: sticky; top: 0; background: var(--soft); font-weight: 600; }
.word { text-align: left; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .2rem 1.2rem;
  margin: .5rem 0 1rem; }
dt { color: var(--faint); } dd { margin: 0; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: .4rem;
  padding: .6rem .8rem; overflow-x: auto; font-size: .87rem; line-height: 1.45; }
pre, .tokens { font-family: ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; }
.formula { padding: .4rem 0 .4rem 1.3rem; overflow-y: hidden; font-size: 1.1rem; }
math { width: fit-content; }
.tokens { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .87rem; line-height: 1.75;
  margin: 0; max-width: none; max-height: 46rem; overflow-y: auto; }
.tokens span { box-shadow: inset 1px 0 0 rgb(0 0 0 / .22); padding: .05rem 0; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; list-style: none; padding: 0;
  margin: 0 0 .6rem; font-size: .9rem; }
.legend li { margin: 0; max-width: none; } .legend span { padding: .05rem .5rem; }
.label { font-weight: 600; margin: 1rem 0 .4rem; }
"""
    f"{_KINDS}\n"
    """
@media (max-width: 60rem) {
  .page { display: block; padding: 0 1rem 3rem; }
  nav { position: static; max-height: none; }
  nav > ol { border-bottom: 1px solid var(--line); padding-bottom: .8rem; }
  h1 { font-size: 1.4rem; } .shown { display: block; }
}
@media (max-width: 48rem) {  /* as small as can be read, then they scroll */
  .chart { width: max(.7 * var(--wide), min(var(--wide), 100vw - 3.4rem)); }
}
@media (max-width: 32rem) {
  dl { display: block; } dd { margin: 0 0 .5rem; }
  .paper, .prompt { padding: .3rem; } details > .inside { padding: 0 .5rem .5rem; }
}
@media print {
  @page { size: A4; margin: 16mm 15mm 18mm;
    @bottom-right { content: counter(page); font: 9pt sans-serif; color: #565b64; } }
  body { font-size: 10.5pt; } .page { display: block; padding: 0; max-width: none; }
  nav:not(.printed), .tools, .skip { display: none; } .shown { display: block; }
  nav.printed { position: static; max-height: none; break-after: page; font-size: 10pt; }
  nav.printed > ol { columns: 2; column-gap: 2rem; } nav a { padding: .08rem 0; }
  nav.printed > ol > li { margin-bottom: .5rem; } nav.printed ol ol a { font-size: 8.5pt; }
  h2, h3, h4, summary, .label, caption { break-after: avoid; }
  h1 { font-size: 18pt; } h2 { font-size: 14pt; } h3 { font-size: 11.5pt; }
  figure, tr, li, pre { break-inside: avoid; } nav li { break-inside: auto; }
  pre { white-space: pre-wrap; }
  thead { display: table-header-group; } thead th { position: static; }
  .numbers, .tokens { max-height: none; overflow: visible; border: 0; }
  .scroll { overflow: visible; mask-image: none; } .paper, .prompt { border: 0; padding: 0; }
  .chart { max-width: 100%; } .chart svg, img { max-width: 100%; height: auto; }
  table { font-size: 8pt; } th, td { padding: .1rem .35rem; }
  details { background: none; border: 0; } details > .inside { padding: 0; }
  details[open] > summary { list-style: none; font-weight: 600; padding: 0; }
  .tokens span, .legend span, thead th { print-color-adjust: exact;
    -webkit-print-color-adjust: exact; }
  a { color: inherit; text-decoration: none; }
}
"""
)
