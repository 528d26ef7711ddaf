// Numbers → colours: amounts from light to dark, differences around nothing, ratios around 1.
// @ts-check

const dark = matchMedia("(prefers-color-scheme: dark)");

/** @typedef {"amount" | "log" | "ratio" | "difference"} Kind */

/** Where a scale ends, and how far along it a value is: 0..1, or −1..1 around nothing. */
export class Scale {
  /** @param {Kind} kind @param {number} most */
  constructor(kind, most) {
    this.kind = kind;
    this.most = most > 0 && Number.isFinite(most) ? most : 1;
  }

  /** @param {Kind} kind @param {ArrayLike<number | null>} values @param {number} [skip] */
  static of(kind, values, skip = -1) {
    let most = 0;
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at] ?? null;
      if (at === skip || value === null || !Number.isFinite(value)) continue;
      const size = kind === "ratio" ? Math.abs(Math.log2(Math.max(value, 2 ** -20))) : Math.abs(value);
      if (size > most) most = size;
    }
    return new Scale(kind, kind === "ratio" ? Math.min(Math.max(most, 0.5), 6) : most);
  }

  /** @param {number | null} value */
  place(value) {
    if (value === null || !Number.isFinite(value)) return Number.NaN;
    if (this.kind === "difference") return clip(value / this.most);
    if (this.kind === "ratio") return clip(Math.log2(Math.max(value, 1e-9)) / this.most);
    if (this.kind === "log") {
      if (value <= 0) return 0;
      return Math.max(0, 1 + Math.log10(value / this.most) / 4); // four decades
    }
    return clip(value / this.most);
  }

  /** Background and ink. @param {number | null} value @returns {[string, string]} */
  paint(value) {
    const place = this.place(value);
    if (Number.isNaN(place)) return ["", ""];
    const strength = Math.abs(place);
    const rgb = this.kind === "difference" || this.kind === "ratio"
      ? (place < 0 ? (dark.matches ? [111, 158, 224] : [28, 79, 156])
        : (dark.matches ? [240, 138, 100] : [214, 84, 40]))
      : (dark.matches ? [107, 174, 214] : [8, 81, 156]);
    const ink = dark.matches ? (strength > 0.45 ? "#000" : "") : (strength > 0.45 ? "#fff" : "");
    return [`rgba(${rgb.join(",")},${(0.96 * strength).toFixed(3)})`, ink];
  }

  /** What the ends of the scale stand for, in words. */
  words() {
    const end = short(this.kind === "ratio" ? 2 ** this.most : this.most);
    if (this.kind === "difference") return `−${end} to +${end}`;
    if (this.kind === "ratio") return `1/${end} to ${end}, 1 = no preference`;
    return this.kind === "log" ? `${short(this.most / 1e4)} to ${end}, logarithmic` : `0 to ${end}`;
  }
}

/** @param {number} value */
function clip(value) {
  return Math.max(-1, Math.min(1, value));
}

/** Three digits. @param {number | null | undefined} value */
export function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e5) return value.toExponential(1).replaceAll("-", "−");
  return String(Number(value.toPrecision(3))).replace("-", "−");
}

/** The colour of a class, thinner. @param {string} hex @param {number} alpha */
export function thin(hex, alpha) {
  const part = (/** @type {number} */ at) => parseInt(hex.slice(at, at + 2), 16);
  return `rgba(${part(1)},${part(3)},${part(5)},${alpha})`;
}

/** Call when the reader switches between light and dark. @param {() => void} listener */
export function onTheme(listener) {
  dark.addEventListener("change", listener);
}

/** A colour of the style sheet. @param {string} name */
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
