// A map drawn in characters: the same numbers as a picture, one cell for each character.
// @ts-check
import { short, thin, themed } from "./colour.js";
import { h, sharp } from "./dom.js";

/** The lines of a text that are a map: at least three in a row of one length, few letters in them.
 * Places are counted in characters, as the server counts them.
 * @param {string} text @returns {{start: number, line: string[]}[] | null} */
export function findMap(text) {
  /** @type {{start: number, line: string[]}[]} */
  let best = [];
  /** @type {{start: number, line: string[]}[]} */
  let run = [];
  let start = 0;
  for (const line of text.split("\n").map((one) => [...one])) {
    const marks = line.filter((one) => !/[\p{L}\p{N}]/u.test(one)).length;
    const drawn = line.length >= 3 && marks >= 0.7 * line.length;
    if (drawn && (!run.length || run[0]?.line.length === line.length)) run.push({ start, line });
    else run = drawn ? [{ start, line }] : [];
    if (run.length > best.length) best = [...run];
    start += line.length + 1;
  }
  return best.length >= 3 ? best : null;
}

export class MapView extends HTMLElement {
  constructor() {
    super();
    this.canvas = h("canvas", { role: "img", "aria-label": "the map of the prompt, coloured like the text" });
    this.said = h("p", { class: "said", "aria-live": "polite" });
    /** @type {{start: number, line: string[]}[]} */
    this.rows = [];
    /** @type {Int32Array} */
    this.tokenAt = new Int32Array();
    this.size = 24;
    /** @type {import("./data.js").Line | null} */
    this.line = null;
    /** @type {Tokens | null} */
    this.tokens = null;
    /** @type {Classes | null} */
    this.classes = null;
    /** @type {number | null} */
    this.chosen = null;
  }

  connectedCallback() {
    this.append(this.canvas, this.said);
    this.canvas.addEventListener("click", (event) => {
      const at = this.under(event);
      if (at !== null) this.dispatchEvent(new CustomEvent("choose", { detail: at === this.chosen ? null : at }));
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const at = this.under(event);
      this.dispatchEvent(new CustomEvent("point", { detail: at }));
      if (at !== null) this.said.textContent = this.words(at);
    });
    this.canvas.addEventListener("pointerleave", () => this.dispatchEvent(new CustomEvent("point", { detail: null })));
    new ResizeObserver(() => this.draw()).observe(this);
  }

  /** @param {number} at */
  words(at) {
    const value = this.line ? `: ${short(this.line.values[at])}` : "";
    return `token ${at} ${JSON.stringify(this.tokens?.pieces[at] ?? "")}${value}`;
  }

  /** Whether there is a map to show. @param {Tokens | null} tokens */
  read(tokens) {
    if (tokens !== this.tokens) {
      this.tokens = tokens;
      const rows = tokens ? findMap(tokens.text) : null;
      this.rows = rows ?? [];
      this.tokenAt = new Int32Array(Math.max(0, ...(tokens?.stops.slice(-1) ?? []))).fill(-1);
      tokens?.pieces.forEach((_, at) => {
        // A character that several tokens share shows the last of them.
        for (let c = tokens.starts[at] ?? 0; c < (tokens.stops[at] ?? 0); c += 1) this.tokenAt[c] = at;
      });
    }
    return this.rows.length > 0;
  }

  /** @param {Classes | null} classes @param {import("./data.js").Line | null} line
   * @param {number | null} chosen */
  show(classes, line, chosen) {
    this.classes = classes;
    this.line = line;
    this.chosen = chosen;
    this.draw();
  }

  /** @param {MouseEvent} event @returns {number | null} */
  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = this.rows[Math.floor((event.clientY - box.top) / this.size)];
    const column = Math.floor((event.clientX - box.left) / this.size);
    if (!row || column < 0 || column >= row.line.length) return null;
    const at = this.tokenAt[row.start + column] ?? -1;
    return at < 0 ? null : at;
  }

  draw() {
    const wide = this.rows[0]?.line.length ?? 0;
    if (!wide || !this.clientWidth) return;
    this.size = Math.max(7, Math.min(28, Math.floor(this.clientWidth / wide), Math.floor(560 / this.rows.length)));
    const size = this.size;
    const context = sharp(this.canvas, wide * size, this.rows.length * size);
    context.font = `${Math.round(size * 0.62)}px monospace`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    this.rows.forEach(({ start, line }, y) => {
      for (let x = 0; x < line.length; x += 1) {
        const at = this.tokenAt[start + x] ?? -1;
        const [back, ink] = this.colours(at);
        context.fillStyle = back;
        context.fillRect(x * size, y * size, size, size);
        context.fillStyle = ink || themed("--ink");
        context.fillText(line[x] ?? "", (x + 0.5) * size, (y + 0.55) * size);
        if (at === this.chosen && at >= 0) {
          context.strokeStyle = themed("--mark");
          context.lineWidth = 2;
          context.strokeRect(x * size + 1, y * size + 1, size - 2, size - 2);
        }
      }
    });
  }

  /** @param {number} at @returns {[string, string]} */
  colours(at) {
    if (at < 0) return [themed("--nothing"), ""];
    if (this.line) {
      const [back, ink] = this.line.scale.paint(this.line.values[at] ?? null);
      return [back || themed("--nothing"), ink];
    }
    const label = this.classes?.labels?.[at];
    const colour = label === undefined ? undefined : this.classes?.colours[label];
    return [colour ? thin(colour, 0.5) : themed("--nothing"), ""];
  }
}

customElements.define("map-view", MapView);
