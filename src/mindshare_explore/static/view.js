// What is shown, as plain values that stand in the address; whoever shows it listens here.
// @ts-check

/** @type {View} */
const START = {
  prompt: "", against: "", side: "a", layer: -1, head: null, token: null, direction: "row",
  measure: "mass", cls: "", log: false, first: true, lift: false, seen: "all", picture: "text",
  classes: [], spans: {}, policy: "priority", folded: [], pins: [], model: "",
};

/** The address of a view: only what is not as at the start. @param {View} view */
export function toHash(view) {
  const parts = new URLSearchParams();
  for (const [key, value] of Object.entries(view)) {
    const start = START[/** @type {keyof View} */ (key)];
    const text = JSON.stringify(value);
    if (text !== JSON.stringify(start)) parts.set(key, typeof value === "string" ? value : text);
  }
  return parts.toString();
}

/** A view from an address; what can't be read is as at the start. @param {string} hash
 * @returns {View} */
export function fromHash(hash) {
  /** @type {Record<string, unknown>} */
  const view = { ...structuredClone(START) };
  for (const [key, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!(key in START)) continue;
    const start = START[/** @type {keyof View} */ (key)];
    let value;
    try {
      value = typeof start === "string" ? text : JSON.parse(text);
    } catch {
      continue;
    }
    if (fits(key, value, start)) view[key] = value;
  }
  return /** @type {View} */ (/** @type {unknown} */ (view));
}

/** @param {string} key @param {any} value @param {unknown} start */
function fits(key, value, start) {
  if (key === "head" || key === "token") return value === null || Number.isInteger(value);
  if (key === "layer") return Number.isInteger(value);
  if (key === "classes") {
    return Array.isArray(value) &&
      value.every((one) => typeof one?.name === "string" && typeof one?.rule === "string");
  }
  if (Array.isArray(start)) return Array.isArray(value);
  if (start !== null && typeof start === "object") {
    return value !== null && typeof value === "object" && !Array.isArray(value);
  }
  return typeof value === typeof start;
}

/** The one view of this page. */
export class Views extends EventTarget {
  constructor() {
    super();
    /** @type {View} */
    this.now = fromHash(location.hash);
    this.written = "";
    addEventListener("hashchange", () => {
      if (location.hash.replace(/^#/, "") === this.written) return;
      this.tell(fromHash(location.hash));
    });
  }

  /** @param {Partial<View>} change */
  set(change) {
    const next = { ...this.now, ...change };
    if (JSON.stringify(next) === JSON.stringify(this.now)) return;
    this.tell(next);
    this.written = toHash(next);
    history.replaceState(null, "", `#${this.written}`);
  }

  /** @param {View} next */
  tell(next) {
    const before = this.now;
    this.now = next;
    const changed = Object.keys(next).filter((key) => {
      const name = /** @type {keyof View} */ (key);
      return JSON.stringify(before[name]) !== JSON.stringify(next[name]);
    });
    this.dispatchEvent(new CustomEvent("change", { detail: new Set(changed) }));
  }

  /** Call with the names of what changed. @param {(changed: Set<string>) => void} listener */
  on(listener) {
    this.addEventListener("change", (event) => {
      listener(/** @type {CustomEvent<Set<string>>} */ (event).detail);
    });
  }
}

/** A layer in words; -1: only their mean is known. @param {number} layer */
export function layerWords(layer) {
  return layer < 0 ? "mean over the layers" : `layer ${layer}`;
}

/** The same beside an axis, or to choose. @param {number | undefined} layer */
export function layerLabel(layer = -1) {
  return layer < 0 ? "mean" : String(layer);
}

/** The classes of a view, as the server takes them. @param {View} view */
export function classesBody(view) {
  const used = new Set(view.classes.map((one) => one.rule));
  const spans = Object.fromEntries(
    Object.entries(view.spans).filter(([name]) => used.has(`span:${name}`)),
  );
  return { classes: view.classes, spans, policy: view.policy };
}
