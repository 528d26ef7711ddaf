"""What a report does in a browser: it draws its charts as they come into view, and turns dark.

Everything that is to be read is in the page without it; only the charts need it.
"""

from __future__ import annotations

from mindshare.figures.page import FIT_WORDS

# Before anything is drawn: the colours that were chosen the last time.
EARLY = """
document.documentElement.dataset.scripts = "on";
try { const t = localStorage.getItem("mindshare-theme");
  if (t) document.documentElement.dataset.theme = t; } catch { /* no storage from files */ }
"""

DRAWING = (
    '\n"use strict";\n(() => {'
    + FIT_WORDS
    + """
  const root = document.documentElement;
  const charts = [...document.querySelectorAll(".chart")];
  let left = charts.length;
  const finished = () => { if (left === 0) root.dataset.drawn = "all"; };

  // What can be scrolled must be reachable by keyboard; what can't should not be in the way.
  const boxes = document.querySelectorAll(".scroll, .tokens, pre");
  const reachable = () => boxes.forEach((box) => {
    const hidden = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (hidden) box.tabIndex = 0; else box.removeAttribute("tabindex");
    edges(box);
  });
  // An edge beyond which there is more fades out.
  const edges = (box) => {
    const end = box.scrollWidth - box.clientWidth - box.scrollLeft;
    const more = [box.scrollLeft > 1 && "left", end > 1 && "right"].filter(Boolean).join(" ");
    if (more) box.dataset.more = more; else delete box.dataset.more;
  };
  boxes.forEach((box) => box.addEventListener("scroll", () => edges(box), { passive: true }));

  // Where the browser's font is wider than the one the chart was laid out in, nothing is cut off.
  const fit = (chart) => {
    const svg = chart.querySelector("svg"), box = svg.getBBox();
    const width = Math.max(svg.width.baseVal.value, Math.ceil(box.x + box.width) + 6);
    const height = svg.height.baseVal.value;
    svg.setAttribute("width", width);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    chart.style.setProperty("--wide", `${width}px`);
    chart.style.height = "auto";
  };

  const read = async (id) => {
    const stored = document.getElementById(id);
    if (!("packed" in stored.dataset)) return JSON.parse(stored.textContent);
    const bytes = Uint8Array.from(atob(stored.textContent), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).json();
  };

  const draw = (chart) => {
    if (chart.dataset.state) return;
    chart.dataset.state = "drawing";
    const options = { actions: false, renderer: "svg" };
    read(chart.dataset.spec).then((spec) => vegaEmbed(chart.firstElementChild, spec, options)).then(
      () => { chart.dataset.state = "drawn"; fitWords(chart); fit(chart); },
      (error) => {
        chart.dataset.state = "failed";
        chart.textContent = "This chart could not be drawn. Its numbers are below.";
        console.error(error);
      },
    ).finally(() => { left -= 1; finished(); reachable(); });
  };

  const idle = window.requestIdleCallback
    ? (f) => window.requestIdleCallback(f, { timeout: 2000 }) : (f) => setTimeout(f, 100);
  // The rest while nothing else is to be done, so that printing finds every chart.
  const rest = () => {
    const next = charts.find((chart) => !chart.dataset.state);
    if (next) { draw(next); idle(rest); }
  };
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
  }), { rootMargin: "300px" });
  charts.forEach((chart) => seen.observe(chart));
  addEventListener("load", () => setTimeout(() => idle(rest), 300));
  addEventListener("beforeprint", () => charts.forEach(draw));
  addEventListener("resize", reachable);
  document.addEventListener("toggle", reachable, true);
  finished(); reachable();

  const button = document.getElementById("theme");
  const dark = () => (root.dataset.theme
    || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const say = () => { button.textContent = dark() ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("mindshare-theme", root.dataset.theme); } catch { /* then not */ }
    say();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", say);
  button.hidden = false;
  say();
})();
"""
)
