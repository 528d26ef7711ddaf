"use strict";
// Draws charts as they come into view; themes, keyboard, downloads, larger charts, the switch of a
// gallery. Everything that is to be read is in the page without it.
(() => {
  const root = document.documentElement;
  const charts = [...document.querySelectorAll(".chart")];
  const specs = new Map();  // chart → its spec by the units that it is laid out in, once read

  const unpacked = (id) => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).text();
  };

  // ---- drawing
  // Words that were laid out one after the other keep their room where the font is wider.
  const fitWords = (chart) => chart.querySelectorAll("text").forEach((word) => {
    const room = word.__data__?.datum?.room;
    if (!room || word.getComputedTextLength() <= room + 0.1) return;
    word.setAttribute("textLength", room);
    word.setAttribute("lengthAdjust", "spacingAndGlyphs");
  });
  // Where the browser's font is wider than the one the chart was laid out in, nothing is cut off.
  const fit = (chart) => {
    const svg = chart.querySelector("svg");
    if (!svg || !chart.getClientRects().length) return;  // not shown: measured when it is
    fitWords(chart);
    const box = svg.getBBox(), height = svg.height.baseVal.value;
    const width = Math.max(svg.width.baseVal.value, Math.ceil(box.x + box.width) + 6);
    svg.setAttribute("width", width);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    chart.style.setProperty("--w", `${width}px`);
    chart.style.setProperty("--wide", width / height);
  };
  const read = async (chart) => {
    const number = chart.dataset.n, units = parseFloat(chart.style.getPropertyValue("--w"));
    const [own, others] = await Promise.all(["spec", "layouts"].map((one) => unpacked(`${one}-${number}`)));
    specs.set(chart, { own: JSON.parse(own), by: new Map([[units, JSON.parse(own)],
      ...Object.entries(JSON.parse(others)).map(([wide, spec]) => [Number(wide), spec])]) });
  };
  // The widest layout for which there is room: text is never smaller than it was drawn.
  const fitting = (chart) => {
    const box = chart.parentElement, room = box.clientWidth || box.closest(".gallery, main").clientWidth;
    const widths = [...specs.get(chart).by.keys()].sort((a, b) => b - a);
    return widths.find((units) => units <= room + 4) || widths.at(-1);
  };
  const draw = async (chart) => {
    if (chart.dataset.state === "drawing" || chart.dataset.state === "failed") return;
    const first = !chart.dataset.state;
    if (first) chart.dataset.state = "drawing";
    try {
      if (first) await read(chart);
      const units = fitting(chart);
      if (chart.dataset.units === String(units)) return;
      chart.dataset.state = "drawing";
      // The page has the title as words, and its own ground.
      const bare = { ...specs.get(chart).by.get(units), title: undefined, background: "transparent" };
      await vegaEmbed(chart.firstElementChild, bare, { actions: false, renderer: "svg" });
      Object.assign(chart.dataset, { state: "drawn", units });
      fit(chart);
    } catch (error) {
      chart.dataset.state = "failed";
      chart.textContent = "This chart could not be drawn. Its numbers are below.";
      console.error(error);
    }
    finished();
    reachable();
  };
  const ready = (chart) => ["drawn", "failed"].includes(chart.dataset.state);
  const finished = () => { if (charts.every(ready)) root.dataset.drawn = "all"; };
  const idle = window.requestIdleCallback
    ? (f) => window.requestIdleCallback(f, { timeout: 2000 }) : (f) => setTimeout(f, 100);
  // The rest while nothing else is to be done.
  const rest = () => {
    const next = charts.find((chart) => !chart.dataset.state);
    if (next) { draw(next); idle(rest); }
  };
  const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
    if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
  }), { rootMargin: "300px" });
  charts.forEach((chart) => seen.observe(chart));
  addEventListener("load", () => setTimeout(() => idle(rest), 300));
  addEventListener("resize", () => charts.filter(ready).forEach(draw));
  // Paper shows what is folded; older browsers need it opened.
  if (!CSS.supports("selector(::details-content)")) addEventListener("beforeprint", () =>
    document.querySelectorAll("details:not(.screen)").forEach((one) => { one.open = true; }));

  // ---- what can be scrolled is reached by keyboard; an edge beyond which there is more fades
  const boxes = document.querySelectorAll(".scroll, .tokens, pre");
  const edges = (box) => {
    const end = box.scrollWidth - box.clientWidth - box.scrollLeft;
    const more = [box.scrollLeft > 1 && "left", end > 1 && "right"].filter(Boolean).join(" ");
    if (more) box.dataset.more = more; else delete box.dataset.more;
  };
  const reachable = () => boxes.forEach((box) => {
    const hidden = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (hidden && !box.querySelector(".chart")) box.tabIndex = 0; else box.removeAttribute("tabindex");
    edges(box);
  });
  boxes.forEach((box) => box.addEventListener("scroll", () => edges(box), { passive: true }));
  addEventListener("resize", reachable);
  document.addEventListener("toggle", reachable, true);
  finished();
  reachable();

  // ---- values by keyboard: the marks that have a tooltip, the nearest one in that direction
  const marks = (chart) => [...chart.querySelectorAll("svg path, svg text")]
    .filter((mark) => mark.__data__?.tooltip);
  const middle = (mark) => {
    const box = mark.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const nearest = (found, from, [dx, dy]) => {
    const [x, y] = middle(from);
    let best = null, least = Infinity;
    for (const mark of found) {
      const [a, b] = middle(mark), ahead = (a - x) * dx + (b - y) * dy;
      const aside = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
      if (mark !== from && ahead > 0.5 && ahead + 3 * aside < least) { best = mark; least = ahead + 3 * aside; }
    }
    return best || from;
  };
  const told = (tooltip) => (typeof tooltip === "object"
    ? Object.entries(tooltip).map(([name, value]) => `${name} ${value}`).join(", ") : String(tooltip));
  const step = (chart, key) => {
    const found = marks(chart), now = chart.querySelector("[data-current]");
    if (!found.length) return;
    const ends = { Home: found[0], End: found.at(-1) };
    const next = ends[key] || (now ? nearest(found, now, STEPS[key]) : found[0]);
    now?.removeAttribute("data-current");
    next.dataset.current = "";
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
    outputOf(chart).textContent = told(next.__data__.tooltip);
  };
  const outputOf = (chart) => (chart.closest("figure") || dialog).querySelector("output");
  charts.forEach((chart) => {
    chart.addEventListener("keydown", (event) => {
      if (event.key in STEPS || event.key === "Home" || event.key === "End") {
        event.preventDefault();
        step(chart, event.key);
      } else if (event.key === "Enter") enlarge(chart);
    });
    chart.addEventListener("blur", () => {
      chart.querySelector("[data-current]")?.removeAttribute("data-current");
      outputOf(chart).textContent = "";
    });
    chart.addEventListener("click", () => enlarge(chart));
  });

  // ---- larger
  const dialog = document.getElementById("larger"), stage = dialog.querySelector(".stage");
  const enlarge = (chart) => {
    const figure = chart.closest("figure");
    if (!figure || dialog.open || chart.dataset.state !== "drawn") return;
    const place = document.createComment("chart");
    const output = figure.querySelector("output"), below = document.createComment("values");
    chart.replaceWith(place);
    output.replaceWith(below);
    stage.replaceChildren(chart, output);
    dialog.showModal();
    chart.focus();
    dialog.addEventListener("close", () => {
      place.replaceWith(chart);
      below.replaceWith(output);
      chart.focus();
    }, { once: true });
  };
  dialog.querySelector("button").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

  // ---- downloads, as the chart was drawn: light, with its title
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const drawn = async (chart, ending) => {
    const made = await vegaEmbed(document.createElement("div"), specs.get(chart).own, { actions: false });
    const blob = ending === "svg" ? new Blob([await made.view.toSVG()], { type: "image/svg+xml" })
      : await made.view.toCanvas(3).then((canvas) => new Promise((done) => canvas.toBlob(done)));
    made.view.finalize();
    return blob;
  };
  document.querySelectorAll("[data-do]").forEach((tool) => tool.addEventListener("click", async (event) => {
    const chart = tool.closest("figure").querySelector(".chart"), wanted = tool.dataset.do;
    if (wanted === "larger") return enlarge(chart);
    event.preventDefault();
    if (wanted === "csv") {
      const text = await unpacked(`csv-${chart.dataset.n}`);
      return save(new Blob([text], { type: "text/csv" }), tool.getAttribute("download"));
    }
    await draw(chart);
    return save(await drawn(chart, wanted), `${tool.dataset.name}.${wanted}`);
  }));

  // ---- galleries show one figure; a link opens what it leads to
  const show = (input) => {
    input.checked = true;
    for (const one of document.querySelectorAll(`input[name="${input.name}"]`)) {
      const figure = document.getElementById(one.value);
      figure.toggleAttribute("data-shown", one === input);
      if (one === input) {
        const chart = figure.querySelector(".chart");
        draw(chart);
        fit(chart);
        reachable();
      }
    }
  };
  const inputs = [...document.querySelectorAll(".switch input")];
  inputs.forEach((input) => input.addEventListener("change", () => show(input)));
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    const input = inputs.find((one) => one.value === target.id);
    if (input) show(input);
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // ---- light and dark
  const button = document.getElementById("theme"), system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const say = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("mindshare-theme", root.dataset.theme); } catch { /* then not */ }
    say();
  });
  system.addEventListener("change", say);
  say();
})();
