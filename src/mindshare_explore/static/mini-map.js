// The whole prompt in one strip: classes above, the shown line below, what is in sight framed.
// @ts-check
import { themed } from "./colour.js";
import { h, sharp } from "./dom.js";

const HEIGHT = 46;
const CLASSES = 10; // pixels of the strip of classes

export class MiniMap extends HTMLElement {
  constructor() {
    super();
    this.canvas = h("canvas", { "aria-hidden": "true" });
    /** @type {{count: number, classes: Classes | null, line: import("./data.js").Line | null, sight: [number, number], chosen: number | null}} */
    this.shown = { count: 0, classes: null, line: null, sight: [0, 0], chosen: null };
  }

  connectedCallback() {
    this.append(this.canvas);
    const go = (/** @type {PointerEvent} */ event) => {
      const box = this.canvas.getBoundingClientRect();
      const at = Math.floor(((event.clientX - box.left) / box.width) * this.shown.count);
      if (at >= 0 && at < this.shown.count) this.dispatchEvent(new CustomEvent("go", { detail: at }));
    };
    this.canvas.addEventListener("pointerdown", go);
    this.canvas.addEventListener("pointermove", (event) => { if (event.buttons) go(event); });
    new ResizeObserver(() => this.draw()).observe(this);
  }

  /** @param {Partial<MiniMap["shown"]>} change */
  show(change) {
    Object.assign(this.shown, change);
    this.draw();
  }

  draw() {
    const { count, classes, line, sight, chosen } = this.shown;
    const width = this.clientWidth;
    this.hidden = count < 2;
    if (!width || count < 2) return;
    const context = sharp(this.canvas, width, HEIGHT);
    const columns = Math.min(count, width);
    const wide = width / columns;
    const bottom = HEIGHT - 2;
    for (let column = 0; column < columns; column += 1) {
      const first = Math.floor((column * count) / columns);
      const last = Math.max(first + 1, Math.floor(((column + 1) * count) / columns));
      let best = Number.NaN;
      let label = -1;
      for (let at = first; at < last; at += 1) {
        const value = line?.scale.place(line.values[at] ?? null) ?? Number.NaN;
        if (!(Math.abs(value) <= Math.abs(best))) best = Number.isNaN(value) ? best : value;
        const one = classes?.labels?.[at];
        if (one !== undefined && classes?.names[one] !== "other" && label < 0) label = one;
      }
      if (label >= 0) {
        context.fillStyle = classes?.colours[label] ?? "";
        context.fillRect(column * wide, 0, Math.max(1, wide), CLASSES);
      }
      if (line && best) {
        const tall = Math.abs(best) * (HEIGHT - CLASSES - 4);
        const both = line.scale.kind === "difference" || line.scale.kind === "ratio";
        context.fillStyle = both && best < 0 ? themed("--minus") : both ? themed("--plus") : themed("--amount");
        context.fillRect(column * wide, bottom - tall, Math.max(1, wide), tall);
      }
    }
    context.strokeStyle = themed("--faint");
    context.strokeRect((sight[0] / count) * width + 0.5, 0.5, ((sight[1] - sight[0]) / count) * width - 1, HEIGHT - 1);
    if (chosen !== null) {
      context.fillStyle = themed("--mark");
      context.fillRect((chosen / count) * width - 1, 0, 2, HEIGHT);
    }
  }
}

customElements.define("mini-map", MiniMap);
