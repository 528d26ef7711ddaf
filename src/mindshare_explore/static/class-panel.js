// Classes: rules and painted stretches, their sizes, and their masses by layer as a report's chart.
// @ts-check
import * as api from "./api.js";
import { short } from "./colour.js";
import { h, later } from "./dom.js";
import { classesBody, layerWords } from "./view.js";

/** @typedef {import("./data.js").Data} Data */

const RULES = "characters such as #*, whitespace, newline, punctuation, digit, letter, special, role:user, re:PATTERN";

export class ClassPanel extends HTMLElement {
  constructor() {
    super();
    /** @type {Data | null} */
    this.data = null;
    this.rows = h("tbody");
    this.where = h("th", { scope: "col" });
    this.name = h("input", { type: "text", placeholder: "name", "aria-label": "name of the class", required: true, size: 9, maxlength: 40 });
    this.rule = h("input", { type: "text", placeholder: "rule: #, *, digit, re:…", "aria-label": `rule of the class: ${RULES}`, title: RULES, required: true, size: 18, maxlength: 500 });
    this.form = h("form", { class: "row" }, this.name, this.rule, h("button", {}, "Add class"));
    this.chart = h("div", { class: "chart", role: "img", tabindex: "0" });
    this.caption = h("p", { class: "scale" });
    /** @type {{toSVG(): Promise<string>, toImageURL(kind: string, scale: number): Promise<string>} | null} */
    this.drawn = null;
    this.asked = 0;
    /** @type {(body: object) => Promise<unknown>} */
    this.check = async () => undefined;
    this.redraw = later(() => void this.drawChart(), 60);
  }

  connectedCallback() {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.add({ name: this.name.value.trim(), rule: this.rule.value });
    });
    this.append(
      h("table", { class: "classes" },
        h("thead", {}, h("tr", {},
          h("th", { scope: "col" }, "class"), h("th", { scope: "col" }, "rule"), h("th", { scope: "col" }, "tokens"),
          this.where, h("th", { scope: "col" }, h("span", { class: "unseen" }, "remove")))),
        this.rows),
      this.form, this.chart, this.caption);
  }

  /** A rule that the server can't read is not taken. @param {ClassRule} one */
  async add(one) {
    const view = this.data?.view;
    if (!view) return;
    const classes = [...view.classes.filter(({ name }) => name !== one.name), one];
    try {
      await this.check(classesBody({ ...view, classes }));
      this.data?.views.set({ classes, cls: one.name });
      this.name.value = this.rule.value = "";
    } catch (error) {
      this.data?.fail(error);
    }
    this.name.focus();
  }

  /** @param {string} name @param {[number, number]} range in characters */
  paint(name, range) {
    const view = this.data?.view;
    if (!view) return;
    const spans = { ...view.spans, [name]: [...(view.spans[name] ?? []), range] };
    const known = view.classes.some((one) => one.rule === `span:${name}`);
    // Painted by hand goes before any rule: the first that matches wins.
    const others = view.classes.filter((one) => one.name !== name);
    const classes = known ? view.classes : [{ name, rule: `span:${name}` }, ...others];
    this.data?.views.set({ spans, classes, cls: name });
  }

  /** @param {string} name */
  drop(name) {
    const view = this.data?.view;
    if (!view) return;
    const spans = Object.fromEntries(Object.entries(view.spans).filter(([one]) => one !== name));
    this.data?.views.set({ classes: view.classes.filter((one) => one.name !== name), spans });
  }

  /** @param {Classes | null} classes */
  show(classes) {
    const view = this.data?.view;
    if (!view) return;
    const rule = new Map(view.classes.map((one) => [one.name, one.rule]));
    const fixed = this.data?.shown ? !this.data.shown.can.classes : false;
    this.form.hidden = fixed;
    const title = this.data?.measure(this.measure())?.title.toLowerCase();
    const blank = !this.data?.shown;
    this.where.hidden = blank;
    this.where.textContent = !blank ? `${title}, ${layerWords(view.layer)}, ${view.head === null ? "mean" : `head ${view.head}`}${view.side === "diff" ? " (B)" : ""}` : "";
    this.rows.replaceChildren(...(classes?.names ?? []).map((name, column) => {
      const chip = h("span", { class: "chip" });
      chip.style.backgroundColor = classes?.colours[column] ?? "";
      return h("tr", { class: name === view.cls ? "chosen" : "" },
        h("td", {}, h("button", {
          type: "button", class: "plain", "aria-pressed": String(name === view.cls),
          onclick: () => this.data?.views.set({ cls: name }),
        }, chip, name)),
        h("td", { class: "rule" }, name === "other" ? "the rest" : name === "sink_slot" ? "learned sinks" : rule.get(name)?.replace(/^span:/, "painted: ") ?? ""),
        h("td", { class: "number" }, short(classes?.counts[column])),
        h("td", { class: "number", hidden: blank }, short(this.here(classes, column))),
        h("td", {}, fixed || !rule.has(name) ? null : h("button", {
          type: "button", class: "plain", "aria-label": `remove class ${name}`, onclick: () => this.drop(name),
        }, "×")));
    }));
    this.redraw();
  }

  /** The chosen measure, if it is one of classes that were measured. */
  measure() {
    const name = this.data?.view.measure ?? "";
    return this.data?.measure(name)?.level === "class" ? name : "mass";
  }

  /** The chosen measure in the chosen layer and head. @param {Classes | null} classes
   * @param {number} column */
  here(classes, column) {
    const view = this.data?.view;
    const source = this.data?.shown;
    if (!view || !source) return null;
    const whole = classes?.measures[this.measure()];
    const heads = whole?.[source.layers.indexOf(view.layer)];
    if (!heads) return null;
    if (view.head !== null) return heads[view.head]?.[column] ?? null;
    const values = heads.map((one) => one[column]).filter((one) => one !== null && one !== undefined);
    return values.length ? values.reduce((sum, one) => sum + one, 0) / values.length : null;
  }

  async drawChart() {
    const source = this.data?.a;
    const view = this.data?.view;
    const ask = (this.asked += 1);
    const named = this.data?.classesA?.names.some((one) => one !== "other" && one !== "sink_slot");
    this.chart.hidden = this.caption.hidden = !(source && view && named);
    if (!source || !view || !named) return;
    const body = {
      ...(source.can.classes ? classesBody(view) : { classes: [], spans: {}, policy: "priority" }),
      token: view.seen === "token" && view.side === "a" ? view.token : null,
      measure: this.measure(),
      against: this.data?.b?.id ?? null,
    };
    const head = view.head === null ? "" : `?head=${view.head}`;
    try {
      /** @type {{spec: Record<string, unknown>, definition: string, description: string}} */
      const found = await api.post(`prompts/${encodeURIComponent(source.id)}/chart${head}`, body);
      const embed = await vega();
      if (ask !== this.asked) return;
      const spec = { ...found.spec, title: undefined, ...darkened(found.spec) };
      this.chart.setAttribute("aria-label", found.description);
      const made = await embed(this.chart, spec, {
        actions: false, renderer: "svg", ast: true, defaultStyle: false,
        tooltip: { disableDefaultStyle: true },
      });
      this.drawn = made.view;
      this.caption.textContent = found.definition.split(". A[i,j]")[0] + ".";
    } catch (error) {
      if (ask !== this.asked) return;
      this.drawn = null;
      this.chart.replaceChildren();
      this.caption.textContent = error instanceof Error ? error.message : String(error);
    }
  }
}

/** @type {Promise<NonNullable<Window["vegaEmbed"]>> | null} */
let loading = null;

/** Vega, fetched when the first chart is drawn. */
function vega() {
  loading ??= new Promise((resolve, reject) => {
    if (window.vegaEmbed) return resolve(window.vegaEmbed);
    const script = document.createElement("script");
    script.type = "module";
    script.src = "static/vega.js";
    script.onload = () => (window.vegaEmbed ? resolve(window.vegaEmbed) : reject(new Error("Vega is not there")));
    script.onerror = () => reject(new Error("Vega can't be loaded"));
    document.head.append(script);
  });
  return loading;
}

/** Really dark in the dark. @param {Record<string, any>} spec */
function darkened(spec) {
  if (!matchMedia("(prefers-color-scheme: dark)").matches) return {};
  const ink = "#e6e6e6";
  const config = spec["config"] ?? {};
  const lines = { labelColor: ink, titleColor: ink, domainColor: "#888", tickColor: "#888", gridColor: "#3a3e44" };
  return {
    background: "transparent",
    config: {
      ...config, background: "transparent", axis: { ...config.axis, ...lines },
      legend: { ...config.legend, labelColor: ink, titleColor: ink },
      header: { ...config.header, labelColor: ink, titleColor: ink },
      text: { ...config.text, color: ink, fill: ink }, view: { ...config.view, stroke: "#444" },
    },
  };
}

customElements.define("class-panel", ClassPanel);
