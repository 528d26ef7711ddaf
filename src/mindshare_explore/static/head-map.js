// Layer × head as a canvas, and the same heads as a list to sort and filter.
// @ts-check
import { short, themed } from "./colour.js";
import { h, sharp } from "./dom.js";
import { layerLabel, layerWords } from "./view.js";

/** @typedef {import("./data.js").Data} Data */

const LISTED = 12; // heads of the list, before more are asked for

export class HeadMap extends HTMLElement {
  constructor() {
    super();
    /** @type {Data | null} */
    this.data = null;
    this.canvas = h("canvas", {
      tabindex: "0", role: "img", "aria-label": "map of layers and heads; arrow keys move, Enter chooses",
    });
    this.said = h("p", { class: "said", "aria-live": "polite" });
    this.scale = h("p", { class: "scale" });
    this.body = h("tbody");
    this.titles = h("tr");
    this.order = /** @type {"value" | "layer" | "a" | "b"} */ ("value");
    this.upward = false;
    this.count = LISTED;
    this.only = h("select", { "aria-label": "which heads are listed", onchange: () => this.list() });
    this.least = h("input", {
      type: "number", step: "any", placeholder: "at least", "aria-label": "smallest value that is listed",
      oninput: () => this.list(),
    });
    this.range = h("input", {
      type: "text", placeholder: "layers 0-29", "aria-label": "layers that are listed, such as 3-9",
      oninput: () => this.list(),
    });
    this.more = h("button", { type: "button", onclick: () => { this.count += 50; this.list(); } }, "more");
    this.cell = { width: 10, height: 10, left: 30, top: 16 };
    this.told = /** @type {[number, number] | null} */ (null); // the cell that the line below names
  }

  connectedCallback() {
    this.append(
      this.canvas, this.scale, this.said,
      h("details", { open: true }, h("summary", {}, "Heads as a list"),
        h("div", { class: "row" }, this.only, this.range, this.least),
        h("table", { class: "heads" },
          h("thead", {}, this.titles),
          this.body),
        this.more),
    );
    this.canvas.addEventListener("pointermove", (event) => this.tell(this.under(event)));
    this.canvas.addEventListener("click", (event) => this.choose(this.under(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this);
  }

  show() {
    const known = [...new Set(this.data?.shown?.known.map((one) => one.name) ?? [])];
    const chosen = this.only.value;
    this.only.replaceChildren(h("option", { value: "" }, "all heads"),
      ...known.map((name) => h("option", { value: name }, name)));
    this.only.value = known.includes(chosen) ? chosen : "";
    this.count = LISTED;
    this.draw();
    this.list();
  }

  draw() {
    const found = this.data?.map();
    const source = this.data?.shown;
    this.canvas.hidden = !found;
    if (!found || !source || !this.clientWidth) {
      this.scale.textContent = source ? "Nothing is known of this measure here." : "";
      return;
    }
    const rows = found.values.length;
    const columns = found.values[0]?.length ?? 0;
    const { left, top } = this.cell;
    this.cell.width = Math.min(34, (Math.min(this.clientWidth, 720) - left - 4) / Math.max(columns, 1));
    this.cell.height = Math.max(6, Math.min(18, 420 / Math.max(rows, 1)));
    const { width, height } = this.cell;
    const context = sharp(this.canvas, left + width * columns + 4, top + height * rows + 4);
    const ink = themed("--ink");
    context.font = "11px sans-serif";
    context.fillStyle = ink;
    context.textBaseline = "middle";
    const stepY = Math.ceil(12 / height);
    for (let row = 0; row < rows; row += stepY) {
      context.textAlign = "right";
      context.fillText(layerLabel(source.layers[row]), left - 5, top + (row + 0.5) * height);
    }
    const stepX = Math.ceil(16 / width);
    context.textAlign = "center";
    for (let column = 0; column < columns; column += stepX) {
      context.fillText(found.byHead ? String(column) : "all", left + (column + 0.5) * width, 8);
    }
    found.values.forEach((heads, row) => heads.forEach((value, column) => {
      const [back] = found.scale.paint(value);
      context.fillStyle = back || themed("--nothing");
      context.fillRect(left + column * width, top + row * height, width - 1, height - 1);
    }));
    this.mark(context, found.values);
    this.tell(this.told); // another measure or model has other numbers there
    this.scale.textContent = `${found.byHead ? "columns: heads; " : ""}rows: layers; colours: ${found.scale.words()}`;
  }

  /** The chosen cell, or the whole row of a mean. @param {CanvasRenderingContext2D} context
   * @param {(number | null)[][]} values */
  mark(context, values) {
    const view = this.data?.view;
    const row = this.data?.shown?.layers.indexOf(view?.layer ?? -1) ?? -1;
    if (!view || row < 0) return;
    const { left, top, width, height } = this.cell;
    const columns = values[0]?.length ?? 1;
    context.strokeStyle = themed("--mark");
    context.lineWidth = 2;
    const [x, wide] = view.head === null || columns === 1 ? [0, columns] : [view.head, 1];
    context.strokeRect(left + x * width - 1, top + row * height - 1, wide * width + 1, height + 1);
  }

  /** @param {PointerEvent | MouseEvent} event @returns {[number, number] | null} */
  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const { left, top, width, height } = this.cell;
    const column = Math.floor((event.clientX - box.left - left) / width);
    const row = Math.floor((event.clientY - box.top - top) / height);
    const values = this.data?.map()?.values;
    if (!values || row < 0 || row >= values.length || column >= (values[0]?.length ?? 0)) return null;
    return [row, column]; // column below 0: the layer's number, for the mean of its heads
  }

  /** What a head is known as; a layer is nothing. @param {boolean | undefined} byHead
   * @param {number} layer @param {number} head */
  names(byHead, layer, head) {
    const known = byHead ? this.data?.shown?.known ?? [] : [];
    return known.filter((one) => one.layer === layer && one.head === head).map((one) => one.name);
  }

  /** @param {[number, number] | null} cell */
  tell(cell) {
    const source = this.data?.shown;
    if (!cell || !source) return;
    this.told = cell;
    const [row, column] = cell;
    const layer = source.layers[row] ?? 0;
    const map = this.data?.map();
    if (column < 0 && map?.byHead) {
      this.said.textContent = `${layerWords(layer)}, mean over the heads`;
      return;
    }
    const names = this.names(map?.byHead, layer, column);
    const value = map?.values[row]?.[Math.max(column, 0)];
    const which = map?.byHead ? `head ${column}` : "all heads";
    const also = names.length ? ` · ${names.join(", ")}` : "";
    this.said.textContent = value === undefined ? "" : `${layerWords(layer)}, ${which}: ${short(value)}${also}`;
  }

  /** @param {[number, number] | null} cell */
  choose(cell) {
    const source = this.data?.shown;
    if (!cell || !source) return;
    const [row, column] = cell;
    const head = column < 0 || !this.data?.map()?.byHead ? null : column;
    this.data?.views.set({ layer: source.layers[row] ?? 0, head });
    this.tell(cell);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const source = this.data?.shown;
    const view = this.data?.view;
    if (!source || !view) return;
    const moves = /** @type {Record<string, [number, number]>} */ ({
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    });
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const row = source.layers.indexOf(view.layer) + move[0];
    const column = (view.head ?? -1) + move[1];
    if (row < 0 || row >= source.layers.length || column < -1 || column >= source.heads) return;
    this.choose([row, column]);
  }

  /** The heads that the filters leave, in order. */
  rows() {
    const source = this.data?.shown;
    const map = this.data?.map();
    const values = map?.values;
    if (!source || !values) return [];
    const wanted = this.only.value;
    const least = this.least.value === "" ? null : Number(this.least.value);
    const [low, high] = layersIn(this.range.value);
    const [a, b] = [this.data?.grid("a"), this.data?.grid("b")];
    const rows = [];
    for (const [row, heads] of values.entries()) {
      const layer = source.layers[row] ?? 0;
      if (layer < low || layer > high) continue;
      for (const [head, value] of heads.entries()) {
        if (value === null || (least !== null && Math.abs(value) < least)) continue;
        const names = this.names(map?.byHead, layer, head);
        const beside = { a: a?.[row]?.[head] ?? 0, b: b?.[row]?.[head] ?? 0 };
        if (!wanted || names.includes(wanted)) rows.push({ layer, head, value, names, ...beside });
      }
    }
    const sign = this.upward ? 1 : -1;
    const { order } = this;
    const around = map?.scale.kind === "difference"; // then the largest change is first
    const size = (/** @type {number} */ one) => (around && order === "value" ? Math.abs(one) : one);
    rows.sort((x, y) => sign * (order === "layer" ? x.layer - y.layer || x.head - y.head : size(x[order]) - size(y[order])));
    return rows;
  }

  /** The titles of the list's columns, to sort by; two models stand beside their difference. */
  sortable() {
    const two = this.data?.view.side === "diff";
    if (!two && this.order !== "layer") this.order = "value";
    const by = (/** @type {"value" | "layer" | "a" | "b"} */ key, /** @type {string} */ words) =>
      h("th", { scope: "col", "aria-sort": this.order !== key ? "none" : this.upward ? "ascending" : "descending" }, h("button", {
        type: "button", class: "plain", onclick: () => {
          this.upward = this.order === key ? !this.upward : key === "layer";
          this.order = key;
          this.list();
        },
      }, `${words}${this.order !== key ? "" : this.upward ? " ▴" : " ▾"}`));
    this.titles.replaceChildren(by("layer", "head"), ...(two ? [by("a", "A"), by("b", "B")] : []),
      by("value", two ? "B − A" : "value"), h("th", { scope: "col" }, "known as"));
    return two;
  }

  list() {
    const two = this.sortable();
    const rows = this.rows();
    const view = this.data?.view;
    const mean = !this.data?.map()?.byHead;
    this.body.replaceChildren(...rows.slice(0, this.count).map(({ layer, head, value, names, a, b }) =>
      h("tr", { class: view?.layer === layer && (mean || view.head === head) ? "chosen" : "" },
        h("td", {}, h("button", {
          type: "button", class: "plain",
          onclick: () => this.data?.views.set({ layer, head: mean ? null : head }),
        }, mean ? layerWords(layer) : `${layerWords(layer)}, head ${head}`)),
        ...(two ? [a, b, value] : [value]).map((one) => h("td", { class: "number" }, short(one))),
        h("td", {}, names.join(", ")))));
    this.more.hidden = rows.length <= this.count;
  }
}

/** `3-9` → [3, 9]; nothing → all. @param {string} text @returns {[number, number]} */
export function layersIn(text) {
  const found = /(\d+)\s*(?:[-–]\s*(\d+))?/.exec(text);
  if (!found) return [-Infinity, Infinity];
  return [Number(found[1]), Number(found[2] ?? found[1])];
}

customElements.define("head-map", HeadMap);
