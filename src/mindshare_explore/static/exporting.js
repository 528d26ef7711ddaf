// What is seen, to take away: pictures, numbers, the study that makes them, a page without a server.
// @ts-check
import * as api from "./api.js";
import { visible } from "./dom.js";
import { h, save } from "./dom.js";
import { classesBody, layerLabel } from "./view.js";

/** @typedef {import("./data.js").Data} Data */

/** @param {unknown} value */
function cell(value) {
  const text = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
  // A leading = + - @ would be a formula in a spreadsheet; numbers are left alone.
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** @param {unknown[][]} rows */
export function csv(rows) {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Tokens with their class and the numbers that colour them. @param {Data} data */
export function tokenRows(data) {
  const tokens = data.shown?.tokens;
  const classes = data.shownClasses;
  const head = ["position", "token", "class", data.view.direction];
  const rows = (tokens?.pieces ?? []).map((piece, at) => [
    at, piece, classes?.names[classes.labels?.[at] ?? -1] ?? "", data.line?.values[at] ?? null,
  ]);
  return [head, ...rows];
}

/** Layers and heads with the measure of the map. @param {Data} data */
export function headRows(data) {
  const source = data.shown;
  const found = data.map();
  const { measure, cls, side } = data.view;
  const name = data.ofClass ? `${measure} of ${cls}` : measure;
  const rows = (found?.values ?? []).flatMap((heads, row) => heads.map((value, head) => [
    layerLabel(source?.layers[row]), found?.byHead ? head : "all", value,
  ]));
  return [["layer", "head", side === "diff" ? `difference of ${name}` : name], ...rows];
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

const WIDE = 900;
const LINE = 22;
const LETTER = 8.4;

/** The coloured text as SVG. @param {Data} data @returns {string} */
export function tokensSvg(data) {
  const tokens = data.shown?.tokens;
  const classes = data.shownClasses;
  const parts = [];
  let [x, y] = [10, 30];
  for (const [at, piece] of (tokens?.pieces ?? []).entries()) {
    const shown = visible(piece);
    const wide = [...shown].length * LETTER + 2;
    if (x + wide > WIDE - 10) [x, y] = [10, y + LINE];
    const label = classes?.labels?.[at] ?? -1;
    const named = label >= 0 && classes?.names[label] !== "other";
    const [back, ink] = data.line?.scale.paint(data.line.values[at] ?? null) ?? ["", ""];
    if (back) parts.push(`<rect x="${x}" y="${y - 15}" width="${wide}" height="19" fill="${back}"/>`);
    if (named) parts.push(`<rect x="${x}" y="${y + 4}" width="${wide}" height="3" fill="${classes?.colours[label]}"/>`);
    parts.push(`<text x="${x + 1}" y="${y}" fill="${ink || "#222"}">${escaped(shown)}</text>`);
    x += wide + 1;
    if (piece.includes("\n")) [x, y] = [10, y + LINE];
  }
  const words = data.line?.words ?? "Tokens by class";
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDE}" height="${y + 20}" font-family="monospace" font-size="14"><title>${escaped(words)}</title><rect width="100%" height="100%" fill="#fff"/>${parts.join("")}</svg>`;
}

/** The map of heads as SVG. @param {Data} data @returns {string} */
export function headsSvg(data) {
  const source = data.shown;
  const found = data.map();
  const [wide, high, left, top] = [22, 14, 34, 24];
  const rows = found?.values ?? [];
  const columns = rows[0]?.length ?? 0;
  const parts = rows.flatMap((heads, row) => [
    `<text x="${left - 6}" y="${top + row * high + 11}" text-anchor="end">${layerLabel(source?.layers[row])}</text>`,
    ...heads.map((value, head) => {
      const [back] = found?.scale.paint(value) ?? [""];
      return `<rect x="${left + head * wide}" y="${top + row * high}" width="${wide - 1}" height="${high - 1}" fill="${back || "#ececec"}"/>`;
    }),
  ]);
  for (let head = 0; head < columns; head += 1) {
    parts.push(`<text x="${left + (head + 0.5) * wide}" y="16" text-anchor="middle">${found?.byHead ? head : "all"}</text>`);
  }
  const { measure, cls } = data.view;
  const title = `${measure}${data.ofClass ? ` of ${cls}` : ""}, by layer and head: ${data.measure(measure)?.definition ?? ""}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + columns * wide + 10}" height="${top + rows.length * high + 10}" font-family="sans-serif" font-size="11" fill="#222"><title>${escaped(title)}</title><rect width="100%" height="100%" fill="#fff"/>${parts.join("")}</svg>`;
}

/** @param {string} svg @returns {Promise<Blob>} */
export async function png(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = h("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
  });
}

export class ExportPanel extends HTMLElement {
  constructor() {
    super();
    /** @type {Data | null} */
    this.data = null;
    /** @type {import("./class-panel.js").ClassPanel | null} */
    this.classes = null;
    this.command = h("code", { class: "command", tabindex: "0" });
  }

  connectedCallback() {
    const button = (/** @type {string} */ words, /** @type {() => unknown} */ act) =>
      h("button", { type: "button", onclick: () => void this.tried(act) }, words);
    const of = () => /** @type {Data} */ (this.data);
    this.append(
      h("div", { class: "row" }, h("span", { class: "label" }, "Text"),
        button("PNG", async () => save("tokens.png", await png(tokensSvg(of())))),
        button("SVG", () => save("tokens.svg", tokensSvg(of()), "image/svg+xml")),
        button("CSV", () => save("tokens.csv", csv(tokenRows(of())), "text/csv"))),
      h("div", { class: "row" }, h("span", { class: "label" }, "Heads"),
        button("PNG", async () => save("heads.png", await png(headsSvg(of())))),
        button("SVG", () => save("heads.svg", headsSvg(of()), "image/svg+xml")),
        button("CSV", () => save("heads.csv", csv(headRows(of())), "text/csv"))),
      h("div", { class: "row" }, h("span", { class: "label" }, "Chart"),
        button("PNG", async () => save("classes.png", await png(await this.chart()))),
        button("SVG", async () => save("classes.svg", await this.chart(), "image/svg+xml"))),
      h("div", { class: "row" }, h("span", { class: "label" }, "Again"),
        button("Study file", () => this.study()), button("Page without a server", () => this.bundle()),
        button("Copy link", () => navigator.clipboard.writeText(location.href))),
      this.command);
  }

  /** @param {() => unknown} act */
  async tried(act) {
    try {
      await act();
    } catch (error) {
      this.data?.fail(error);
    }
  }

  async chart() {
    if (!this.classes?.drawn) throw new Error("there is no chart to save; add a class first");
    return this.classes.drawn.toSVG();
  }

  /** @returns {Promise<{command: string, files: Record<string, string>}>} */
  recipe() {
    const data = /** @type {Data} */ (this.data);
    if (!data.a) throw new Error("nothing is measured yet");
    return api.post(`prompts/${encodeURIComponent(data.a.id)}/recipe`, classesBody(data.view));
  }

  async show() {
    this.hidden = !this.data?.a;
    if (!this.data?.a) return;
    try {
      this.command.textContent = (await this.recipe()).command;
    } catch {
      this.command.textContent = "";
    }
  }

  async study() {
    const { files } = await this.recipe();
    for (const [name, text] of Object.entries(files)) save(name, text);
  }

  async bundle() {
    const data = /** @type {Data} */ (this.data);
    if (!data.a) throw new Error("nothing is measured yet");
    const { pins, layer, token } = data.view;
    const all = token === null ? pins : [...pins, [layer, token]];
    const body = { pins: all, view: location.hash.replace(/^#/, ""), classes: classesBody(data.view), against: data.b?.id ?? null };
    save("mindshare-explorer.zip", await api.download(`prompts/${encodeURIComponent(data.a.id)}/bundle`, body));
  }
}

customElements.define("export-panel", ExportPanel);
