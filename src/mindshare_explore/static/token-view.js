// The prompt's own text, token by token: hover, click, arrow keys, painting, folding.
// @ts-check
import { short, thin } from "./colour.js";
import { h, visible } from "./dom.js";

/** @typedef {import("./data.js").Data} Data */

const BLOCK = 256; // tokens that come and go together while one scrolls

/** Where blocks end: after a line break if there is one near. @param {string[]} pieces */
export function blockEnds(pieces) {
  const ends = [];
  for (let start = 0; start < pieces.length;) {
    let end = Math.min(start + BLOCK, pieces.length);
    if (end < pieces.length) {
      for (let at = end; at > start + BLOCK / 2; at -= 1) {
        if (pieces[at - 1]?.includes("\n")) {
          end = at;
          break;
        }
      }
    }
    ends.push(end);
    start = end;
  }
  return ends;
}

export class TokenView extends HTMLElement {
  constructor() {
    super();
    /** @type {Data | null} */
    this.data = null;
    /** @type {HTMLElement[]} */
    this.spans = [];
    /** @type {{box: HTMLElement, list: HTMLElement, start: number, end: number, sum: HTMLElement}[]} */
    this.blocks = [];
    /** @type {Set<number>} */
    this.inSight = new Set();
    this.cursor = 0;
    /** @type {[number, number] | null} */
    this.painted = null;
    /** @type {Tokens | null} */
    this.tokens = null;
    /** @type {Classes | null} */
    this.classes = null;
    /** @type {import("./data.js").Line | null} */
    this.line = null;
    this.watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const number = Number(/** @type {HTMLElement} */ (entry.target).dataset["block"]);
        if (entry.isIntersecting) {
          this.inSight.add(number);
          this.colour(number);
        } else this.inSight.delete(number);
      }
      this.dispatchEvent(new Event("sight"));
    }, { rootMargin: "200px" });
    this.tip = h("div", { class: "tip", role: "status", "aria-live": "off", hidden: true });
  }

  connectedCallback() {
    this.addEventListener("pointerover", (event) => this.point(event));
    this.addEventListener("pointerleave", () => this.leave());
    this.addEventListener("click", (event) => this.press(event));
    this.addEventListener("keydown", (event) => this.key(event));
    this.addEventListener("pointerup", () => setTimeout(() => this.selected(), 0));
  }

  /** @param {Tokens | null} tokens @param {Classes | null} classes @param {number[]} folded */
  show(tokens, classes, folded) {
    this.classes = classes;
    if (tokens !== this.tokens) this.build(tokens);
    for (const [number, block] of this.blocks.entries()) {
      const closed = folded.includes(number);
      block.list.hidden = closed;
      block.box.querySelector("button")?.setAttribute("aria-expanded", String(!closed));
    }
    this.recolour();
  }

  /** @param {Tokens | null} tokens */
  build(tokens) {
    this.watcher.disconnect();
    this.inSight.clear();
    this.tokens = tokens;
    this.spans = [];
    this.blocks = [];
    this.painted = null;
    this.replaceChildren();
    if (!tokens) return;
    const ends = blockEnds(tokens.pieces);
    const special = new Set(tokens.special);
    const whole = document.createDocumentFragment();
    let start = 0;
    for (const [number, end] of ends.entries()) {
      const list = h("div", {
        class: "tokens", role: "listbox", "aria-label": `tokens ${start} to ${end - 1}`,
        tabindex: number === 0 ? "0" : "-1",
      });
      for (let at = start; at < end; at += 1) list.append(this.token(at, tokens, special.has(at)));
      const sum = h("span", { class: "sum" });
      const head = ends.length === 1 ? null : h("button", {
        class: "fold", type: "button", "aria-expanded": "true", "data-fold": number,
      }, `tokens ${start}–${end - 1} `, sum);
      const box = h("div", { class: "block", "data-block": number }, head, list);
      this.blocks.push({ box, list, start, end, sum });
      whole.append(box);
      start = end;
    }
    this.append(whole, this.tip);
    for (const block of this.blocks) this.watcher.observe(block.box);
    this.cursor = Math.min(this.cursor, tokens.pieces.length - 1);
  }

  /** @param {number} at @param {Tokens} tokens @param {boolean} special */
  token(at, tokens, special) {
    const span = document.createElement("span");
    span.className = special ? "token special" : "token";
    span.id = `t${at}`;
    span.dataset["at"] = String(at);
    span.setAttribute("role", "option");
    span.setAttribute("aria-selected", "false");
    const piece = tokens.pieces[at] ?? "";
    if (!piece.trim()) span.setAttribute("aria-label", visible(piece));
    span.textContent = piece.replaceAll("\n", "⏎\n") || "∅"; // text, never HTML
    this.spans.push(span);
    return span;
  }

  /** @param {import("./data.js").Line | null} line */
  weigh(line) {
    this.line = line;
    this.recolour();
  }

  recolour() {
    for (const number of this.inSight) this.colour(number);
    const view = this.data?.view;
    for (const block of this.blocks) {
      let sum = 0;
      if (this.line && view?.direction !== "received" && !view?.lift) {
        for (let at = block.start; at < block.end; at += 1) {
          const value = this.line.values[at] ?? 0;
          if (Number.isFinite(value)) sum += value;
        }
      }
      block.sum.textContent = sum ? `Σ ${short(sum)}` : "";
    }
  }

  /** @param {number} number */
  colour(number) {
    const block = this.blocks[number];
    if (!block || block.list.hidden) return;
    const chosen = this.data?.view.token ?? null;
    const parts = this.data?.view.side === "a" ? null : this.data?.comparison?.parts;
    for (let at = block.start; at < block.end; at += 1) {
      const span = /** @type {HTMLElement} */ (this.spans[at]);
      const label = this.classes?.labels?.[at];
      const name = label === undefined ? "other" : this.classes?.names[label];
      const colour = label === undefined ? "" : this.classes?.colours[label] ?? "";
      const named = name !== "other" && colour !== "";
      span.style.borderBottomColor = named ? colour : "transparent";
      if (this.line) {
        const [back, ink] = this.line.scale.paint(this.line.values[at] ?? Number.NaN);
        span.style.backgroundColor = back;
        span.style.color = ink;
      } else {
        span.style.backgroundColor = named ? thin(colour, 0.35) : "";
        span.style.color = "";
      }
      const part = parts?.[at];
      span.classList.toggle("new", part !== undefined && part !== "original");
      span.classList.toggle("chosen", at === chosen);
      span.classList.toggle("painted", this.painted !== null && at >= this.painted[0] && at <= this.painted[1]);
      span.setAttribute("aria-selected", String(at === chosen));
    }
  }

  /** @param {Event} event @returns {number | null} */
  at(event) {
    const target = event.target instanceof Element ? event.target.closest(".token") : null;
    const text = target instanceof HTMLElement ? target.dataset["at"] : undefined;
    return text === undefined ? null : Number(text);
  }

  /** @param {PointerEvent} event */
  point(event) {
    if (event.pointerType === "touch") return;
    const at = this.at(event);
    if (at !== null) {
      this.data?.point(at);
      this.describe(at);
    }
  }

  leave() {
    this.tip.hidden = true;
    this.data?.point(null);
  }

  /** @param {number} at */
  describe(at) {
    const span = this.spans[at];
    if (!span || !this.tokens) return;
    const label = this.classes?.labels?.[at];
    const lines = [`token ${at} ${visible(this.tokens.pieces[at] ?? "")}`];
    if (label !== undefined) lines.push(this.classes?.names[label] ?? "");
    if (this.line && (this.data?.view.token !== null || this.data?.view.direction === "received")) {
      lines.push(short(this.line.values[at]));
    }
    this.tip.textContent = lines.join(" · ");
    this.tip.hidden = false;
    const box = span.getBoundingClientRect();
    const mine = this.getBoundingClientRect();
    const most = mine.width - this.tip.offsetWidth - 4;
    this.tip.style.left = `${Math.max(0, Math.min(box.left - mine.left, most))}px`;
    this.tip.style.top = `${box.bottom - mine.top + 4}px`;
  }

  /** @param {MouseEvent} event */
  press(event) {
    const fold = event.target instanceof Element ? event.target.closest(".fold") : null;
    if (fold instanceof HTMLElement) {
      this.dispatchEvent(new CustomEvent("fold", { detail: Number(fold.dataset["fold"]) }));
      return;
    }
    const at = this.at(event);
    if (at === null || !getSelection()?.isCollapsed) return;
    if (event.shiftKey) this.paintTo(at);
    else this.choose(at === this.data?.view.token ? null : at);
  }

  /** @param {number | null} at */
  choose(at) {
    if (at !== null) this.cursor = at;
    this.dispatchEvent(new CustomEvent("choose", { detail: at }));
  }

  /** @param {number} at */
  paintTo(at) {
    const from = this.data?.view.token ?? this.cursor;
    this.paint(Math.min(from, at), Math.max(from, at));
  }

  /** @param {number} first @param {number} last */
  paint(first, last) {
    this.painted = [first, last];
    this.recolour();
    this.dispatchEvent(new CustomEvent("paint", { detail: [first, last] }));
  }

  unpaint() {
    this.painted = null;
    this.recolour();
  }

  /** A stretch of text that the pointer has selected. */
  selected() {
    const selection = getSelection();
    if (!selection || selection.isCollapsed || !selection.rangeCount) return;
    const range = selection.getRangeAt(0);
    if (!this.contains(range.commonAncestorContainer)) return;
    const token = (/** @type {Node} */ node) => {
      const element = node instanceof Element ? node : node.parentElement;
      const span = element?.closest(".token");
      return span instanceof HTMLElement ? Number(span.dataset["at"]) : null;
    };
    const first = token(range.startContainer);
    let last = token(range.endContainer);
    if (last !== null && range.endOffset === 0 && last > (first ?? 0)) last -= 1;
    if (first === null || last === null) return;
    selection.removeAllRanges();
    this.paint(Math.min(first, last), Math.max(first, last));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.tokens || !(event.target instanceof Element) || !event.target.closest(".tokens")) return;
    const last = this.tokens.pieces.length - 1;
    const steps = /** @type {Record<string, number>} */ ({
      ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10, PageDown: 100, PageUp: -100,
      Home: -last, End: last,
    });
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      this.move(Math.max(0, Math.min(last, this.cursor + step)));
      if (event.shiftKey) this.paintTo(this.cursor);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(this.cursor === this.data?.view.token ? null : this.cursor);
    } else if (event.key === "Escape") {
      this.unpaint();
      this.choose(null);
    }
  }

  /** @param {number} at */
  move(at) {
    this.spans[this.cursor]?.classList.remove("cursor");
    this.cursor = at;
    const span = this.spans[at];
    span?.classList.add("cursor");
    const block = this.blocks.find((one) => at < one.end);
    if (block?.list.hidden) {
      this.dispatchEvent(new CustomEvent("fold", { detail: this.blocks.indexOf(block) }));
    }
    for (const one of this.blocks) one.list.tabIndex = one === block ? 0 : -1;
    block?.list.setAttribute("aria-activedescendant", `t${at}`);
    block?.list.focus({ preventScroll: true });
    span?.scrollIntoView({ block: "nearest" });
    this.data?.point(at);
    this.describe(at);
  }

  /** @param {number} at */
  reveal(at) {
    this.spans[at]?.scrollIntoView({ block: "center" });
  }

  /** The tokens in sight, first and last. @returns {[number, number]} */
  range() {
    const seen = [...this.inSight].sort((a, b) => a - b);
    const first = this.blocks[seen[0] ?? 0];
    const last = this.blocks[seen[seen.length - 1] ?? 0];
    return [first?.start ?? 0, last?.end ?? 0];
  }
}

customElements.define("token-view", TokenView);
