// Elements from values. Text goes in as text: nothing here makes HTML of it.
// @ts-check

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [attributes] `onclick` and the like are listeners
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on") && typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (name === "value" && "value" in element) {
      /** @type {{value: string}} */ (/** @type {unknown} */ (element)).value = String(value);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** Give a file to the reader. @param {string} name @param {Blob | string} content
 * @param {string} [kind] */
export function save(name, content, kind = "text/plain") {
  const blob = typeof content === "string" ? new Blob([content], { type: kind }) : content;
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** @template {unknown[]} A @param {(...args: A) => void} call @param {number} wait */
export function later(call, wait) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return (/** @type {A} */ ...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...args), wait);
  };
}

/** A token as it can be shown on one line. @param {string} piece */
export function visible(piece) {
  return piece.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "·") || "∅";
}

/** A canvas sharp on this screen, cleared. @param {HTMLCanvasElement} canvas
 * @param {number} width @param {number} height */
export function sharp(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
