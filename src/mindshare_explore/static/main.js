// The page: parts beside one another, and who tells whom.
// @ts-check
import * as api from "./api.js";
import { ClassPanel } from "./class-panel.js";
import { onTheme } from "./colour.js";
import { Data } from "./data.js";
import { h } from "./dom.js";
import { ExportPanel } from "./exporting.js";
import { HeadMap } from "./head-map.js";
import { MapView } from "./map-view.js";
import { MatterPanel } from "./matter-panel.js";
import { MiniMap } from "./mini-map.js";
import { PromptPanel, sentence } from "./prompt-panel.js";
import { TokenView } from "./token-view.js";
import { fromHash, layerLabel } from "./view.js";

const DIRECTIONS = { row: "looks at", column: "is looked at by", received: "all: receives" };
const SIDES = { a: "A", b: "B", diff: "B − A" };

class MindExplorer extends HTMLElement {
  constructor() {
    super();
    this.data = new Data();
    this.prompt = new PromptPanel();
    this.tokens = new TokenView();
    this.mini = new MiniMap();
    this.map = new MapView();
    this.heads = new HeadMap();
    this.classes = new ClassPanel();
    this.matter = new MatterPanel();
    this.matter.run = async (ask) => Boolean(await this.prompt.run(ask));
    this.exports = new ExportPanel();
    for (const part of [this.prompt, this.tokens, this.heads, this.classes, this.matter, this.exports]) part.data = this.data;
    this.exports.classes = this.classes;
    this.classes.check = (body) => (this.data.a && !this.previewed
      ? api.post(`prompts/${encodeURIComponent(this.data.a.id)}/classes`, { ...body, token: null })
      : api.post("tokens", { ...this.prompt.body(), ...body }));
    this.previewed = false; // what is shown is not measured yet
    this.notice = h("p", { class: "notice", role: "alert", hidden: true });
    this.words = h("p", { class: "words" });
    this.definition = h("p", { class: "words" });
    this.open = h("select", { "aria-label": "open what was measured" });
    this.against = h("select", { "aria-label": "compare with" });
    this.sides = h("fieldset", { class: "choice" }, h("legend", {}, "Show"));
    this.directions = h("fieldset", { class: "choice" }, h("legend", {}, "A token"));
    this.layer = h("select", { "aria-label": "layer" });
    this.head = h("select", { "aria-label": "head" });
    this.measure = h("select", { "aria-label": "measure of the map" });
    this.seen = h("select", { "aria-label": "whose attention" },
      h("option", { value: "all" }, "of all tokens"), h("option", { value: "token" }, "of the chosen token"));
    this.log = this.box("log", "log scale", "colours over four decades");
    this.first = this.box("first", "first token", "draw the first token, which often takes most of the attention");
    this.lift = this.box("lift", "lift", "attention as a ratio to uniform attention; 1 = no preference");
    this.picture = this.box("picture", "as a map", "the map of the prompt as a picture");
    this.name = h("input", { type: "text", placeholder: "name of the class", "aria-label": "name of the painted class", size: 12, maxlength: 40, pattern: "[A-Za-z][\\w\\-]*", required: true });
    this.painting = h("form", { class: "row bar", hidden: true });
    this.insert = h("input", { type: "text", placeholder: "text to insert before it", "aria-label": "text to insert before the chosen token", size: 18 });
    this.chosen = h("div", { class: "row bar", hidden: true });
    this.elsewhere = h("div", { class: "row" });
    this.head_words = h("h2", {}, "Heads");
    this.filled = ""; // the prompt that stands in the box
    this.right = h("section", { class: "right", "aria-label": "heads", hidden: true });
  }

  connectedCallback() {
    this.build();
    this.listen();
    if (api.bundle?.view && !location.hash) this.data.views.now = fromHash(api.bundle.view);
    void this.begin();
  }

  /** @param {"log" | "first" | "lift" | "picture"} name @param {string} words @param {string} title */
  box(name, words, title) {
    const input = h("input", {
      type: "checkbox", onchange: () => {
        const on = input.checked;
        this.data.views.set(name === "picture" ? { picture: on ? "map" : "text" } : { [name]: on });
      },
    });
    return Object.assign(h("label", { class: "check", title }, input, words), { input });
  }

  build() {
    const choice = (/** @type {HTMLFieldSetElement} */ set, /** @type {Record<string, string>} */ words, /** @type {"direction" | "side"} */ key) => {
      for (const [value, text] of Object.entries(words)) {
        set.append(h("label", {}, h("input", {
          type: "radio", name: key, value, onchange: () => this.data.views.set({ [key]: value }),
        }), h("span", {}, text)));
      }
    };
    choice(this.directions, DIRECTIONS, "direction");
    choice(this.sides, SIDES, "side");
    this.painting.append(h("span", { class: "label" }, ""), this.name, h("button", {}, "Paint as a class"),
      h("button", { type: "button", onclick: () => this.unpaint() }, "Leave it"));
    this.chosen.append(h("span", { class: "label" }, ""),
      h("button", { type: "button", onclick: () => this.pin() }, "Pin"),
      h("span", { class: "group", "data-live": "" }, this.insert,
        h("button", { type: "button", onclick: () => void this.inserted() }, "Measure with it"),
        h("button", { type: "button", title: "paints it as a class, and hides that", onclick: () => this.hide() }, "Does it matter?")));
    this.append(
      h("header", {}, h("h1", {}, "mindshare explorer"), this.open),
      this.notice,
      h("main", {},
        h("section", { class: "left", "aria-label": "the prompt" }, this.prompt,
          h("div", { class: "row", id: "controls" }, this.directions,
            h("label", { class: "check" }, "layer ", this.layer), h("label", { class: "check" }, "head ", this.head),
            this.log, this.first, this.lift, this.picture),
          h("div", { class: "row", id: "compare" }, h("label", { class: "check" }, "compare with ", this.against), this.elsewhere, this.sides),
          this.mini, this.map, this.tokens, this.painting, this.chosen, this.words,
          h("h2", {}, "Classes"), this.classes),
        this.right));
    this.classes.form.after(this.matter);
    this.right.append(this.head_words, h("div", { class: "row" }, this.measure, this.seen), this.heads, this.definition,
      h("h2", {}, "Take away"), this.exports);
  }

  listen() {
    const { data, tokens } = this;
    data.addEventListener("list", () => this.list());
    data.addEventListener("source", () => this.source());
    data.addEventListener("classes", () => this.counted());
    data.addEventListener("line", () => this.lined());
    data.addEventListener("problem", (event) => this.tell(sentence(/** @type {CustomEvent} */ (event).detail)));
    data.addEventListener("job", (event) => this.prompt.follow(/** @type {CustomEvent<Job>} */ (event).detail));
    data.views.on((changed) => this.changed(changed));
    this.prompt.addEventListener("preview", (event) => this.preview(/** @type {CustomEvent} */ (event).detail));
    this.prompt.addEventListener("measured", () => this.tell(""));
    this.prompt.addEventListener("unchanged", () => {
      if (!this.previewed) return;
      this.source();
      this.lined();
    });
    for (const part of [tokens, this.map]) {
      part.addEventListener("choose", (event) => data.views.set({ token: /** @type {CustomEvent} */ (event).detail }));
    }
    this.map.addEventListener("point", (event) => data.point(/** @type {CustomEvent} */ (event).detail));
    tokens.addEventListener("fold", (event) => this.fold(/** @type {CustomEvent<number>} */ (event).detail));
    tokens.addEventListener("paint", (event) => this.paint(/** @type {CustomEvent<[number, number]>} */ (event).detail));
    tokens.addEventListener("sight", () => this.mini.show({ sight: tokens.range() }));
    this.mini.addEventListener("go", (event) => tokens.reveal(/** @type {CustomEvent<number>} */ (event).detail));
    this.painting.addEventListener("submit", (event) => this.painted(event));
    this.open.addEventListener("change", () => data.views.set({ prompt: this.open.value, against: "", side: "a", token: null, folded: [], spans: {}, classes: data.view.classes.filter((one) => !one.rule.startsWith("span:")) }));
    this.against.addEventListener("change", () => data.views.set({ against: this.against.value, side: this.against.value ? "diff" : "a", token: null }));
    this.layer.addEventListener("change", () => data.views.set({ layer: Number(this.layer.value) }));
    this.head.addEventListener("change", () => data.views.set({ head: this.head.value === "" ? null : Number(this.head.value) }));
    this.measure.addEventListener("change", () => data.views.set({ measure: this.measure.value }));
    this.seen.addEventListener("change", () => data.views.set({ seen: this.seen.value === "token" ? "token" : "all" }));
    onTheme(() => { this.source(); this.lined(); this.counted(); });
  }

  async begin() {
    try {
      await this.data.start();
    } catch (error) {
      this.tell(sentence(error));
    }
    if (this.data.a) return;
    const [first] = this.data.server.prompts.filter((one) => !one.live);
    if (this.data.server.models.length === 0 && first) this.data.views.set({ prompt: first.id });
    else if (!this.data.view.prompt) this.prompt.begin();
  }

  /** @param {string} words */
  tell(words) {
    this.notice.textContent = words;
    this.notice.hidden = !words;
  }

  list() {
    const { prompts } = this.data.server;
    const option = (/** @type {Listed} */ one) => h("option", { value: one.id }, `${one.model}: ${one.title}`);
    this.open.replaceChildren(h("option", { value: "" }, "Open what was measured…"), ...prompts.map(option));
    this.prompt.list();
    this.chooseOpen();
  }

  chooseOpen() {
    const { view } = this.data;
    const others = this.data.server.prompts.filter(({ id }) => id !== view.prompt);
    this.against.replaceChildren(h("option", { value: "" }, "nothing"),
      ...others.map((one) => h("option", { value: one.id }, `${one.model}: ${one.title}`)));
    for (const [select, id, source] of /** @type {[HTMLSelectElement, string, Source | null][]} */ ([
      [this.open, view.prompt, this.data.a], [this.against, view.against, this.data.b]])) {
      if (id && source && ![...select.options].some((one) => one.value === id)) {
        select.append(h("option", { value: id }, `${source.model}: ${source.title}`));
      }
      select.value = id;
    }
  }

  /** @param {{tokens: Tokens, classes: Classes}} found */
  preview({ tokens, classes }) {
    this.tokens.hidden = false;
    this.map.hidden = true;
    this.tokens.weigh(null);
    this.tokens.show(tokens, classes, []);
    this.mini.show({ count: tokens.pieces.length, classes, line: null, chosen: null });
    this.words.textContent = "Coloured by class; measure it to see where attention goes.";
    if (!this.data.a) this.classes.show(classes);
    this.previewed = true;
  }

  source() {
    const { data } = this;
    const source = data.shown;
    this.previewed = false;
    this.tell("");
    if (data.a && data.a.id !== this.filled) this.prompt.fill(data.a);
    this.filled = data.a?.id ?? "";
    this.chooseOpen();
    this.right.hidden = !source;
    const layers = source?.layers ?? [];
    this.layer.replaceChildren(...layers.map((one) => h("option", { value: one }, layerLabel(one))));
    this.head.replaceChildren(h("option", { value: "" }, "mean"),
      ...Array.from({ length: source?.heads ?? 0 }, (_, at) => h("option", { value: at }, String(at))));
    const both = Boolean(data.a && data.b);
    this.sides.hidden = !both;
    const named = data.a?.model === data.b?.model ? ["A: as it was", "B: the other version"] : [`A: ${data.a?.model}`, `B: ${data.b?.model}`];
    for (const [at, span] of this.sides.querySelectorAll("span").entries()) span.textContent = named[at] ?? SIDES.diff;
    for (const id of ["controls", "compare"]) {
      const part = this.querySelector(`#${id}`);
      if (part instanceof HTMLElement) part.hidden = !source;
    }
    const models = data.server.models.map(({ label }) => label).filter((label) => label !== data.a?.model && label !== data.b?.model);
    this.elsewhere.replaceChildren(...(data.a?.can.rows ? models : []).map((label) =>
      h("button", { type: "button", onclick: () => void this.inModel(label) }, `measure in ${label}`)));
    const drawn = this.map.read(source?.tokens ?? null);
    this.picture.hidden = !drawn;
    this.controls();
    this.show();
  }

  controls() {
    const { view } = this.data;
    this.layer.value = String(view.layer);
    this.head.value = view.head === null ? "" : String(view.head);
    this.log.input.checked = view.log;
    this.first.input.checked = view.first;
    this.lift.input.checked = view.lift;
    this.picture.input.checked = view.picture === "map";
    this.seen.value = view.seen;
    const source = this.data.shown;
    const effect = this.data.measure(view.measure)?.level === "effect";
    this.seen.hidden = !source?.can.rows || effect;
    for (const input of this.querySelectorAll("input[type=radio]")) {
      if (!(input instanceof HTMLInputElement)) continue;
      input.checked = input.value === (input.name === "direction" ? view.direction : view.side);
      const rows = input.value === "row" || input.value === "column";
      if (input.name === "direction") input.disabled = rows ? !source?.can.rows : !source?.can.received;
    }
    const known = this.data.server.measures;
    const classes = Object.keys(this.data.shownClasses?.measures ?? {});
    const heads = Object.keys(source?.measures ?? {});
    const effects = Object.keys((source && this.data.effect(source))?.measures ?? {});
    const there = [...classes, ...heads, ...effects];
    this.measure.replaceChildren(...known.filter((one) => there.includes(one.name)).map((one) =>
      h("option", { value: one.name }, ["class", "effect"].includes(one.level) ? `${one.title} of ${view.cls || "a class"}` : one.title)));
    if (this.data.shownClasses && there.length && !there.includes(view.measure)) this.data.views.now.measure = there[0] ?? "mass";
    this.measure.value = this.data.view.measure;
    const chosen = known.find((one) => one.name === this.data.view.measure);
    this.head_words.textContent = chosen ? `Heads: ${chosen.title.toLowerCase()}${this.data.ofClass ? ` of ${view.cls}` : ""}${view.side === "diff" ? ", B − A" : ""}` : "Heads";
    this.definition.textContent = chosen && source ? `${chosen.title}: ${chosen.definition}. Q: ${effect ? "the last token" : view.seen === "token" ? "the chosen token" : "all tokens"}.${view.side === "diff" ? " Shown is B − A." : ""}` : "";
  }

  /** @param {Set<string>} changed */
  changed(changed) {
    if (changed.has("folded") || changed.has("picture")) this.show();
    if (["classes", "spans", "policy"].some((one) => changed.has(one)) && (this.previewed || !this.data.a)) this.prompt.changed();
    this.controls();
    if (["layer", "head", "measure", "cls", "log", "side"].some((one) => changed.has(one))) {
      this.heads.draw();
      this.heads.list();
      this.classes.show(this.data.shownClasses);
      this.matter.show();
    }
    if (changed.has("token")) this.chose();
  }

  show() {
    const { data } = this;
    const source = data.shown;
    if (!source && this.previewed) return;
    const asMap = data.view.picture === "map" && !this.picture.hidden;
    this.map.hidden = !asMap;
    this.tokens.hidden = !source?.tokens;
    this.tokens.show(source?.tokens ?? null, data.shownClasses, data.view.folded);
    this.mini.show({ count: source?.tokens?.pieces.length ?? 0, classes: data.shownClasses, chosen: data.view.token });
    this.map.show(data.shownClasses, data.line, data.view.token);
    this.chose();
  }

  counted() {
    if (!this.data.a) return;
    this.controls();
    this.classes.show(this.data.shownClasses);
    this.heads.show();
    this.matter.show();
    this.show();
    void this.exports.show();
  }

  lined() {
    const { data } = this;
    if (this.previewed) return;
    this.tokens.weigh(data.line);
    this.mini.show({ line: data.line, chosen: data.view.token });
    this.map.show(data.shownClasses, data.line, data.view.token);
    const rows = data.shown?.can.rows ? "Hover or choose a token to see where its attention goes." : "Coloured by class.";
    this.words.textContent = data.line ? `${data.line.words} Colours: ${data.line.scale.words()}.` : rows;
  }

  chose() {
    const { data } = this;
    const at = data.view.token;
    const piece = at === null ? "" : data.shown?.tokens?.pieces[at] ?? "";
    this.chosen.hidden = at === null || !data.shown?.can.rows;
    const [label] = this.chosen.children;
    if (label) label.textContent = at === null ? "" : `token ${at} ${JSON.stringify(piece)}`;
    if (at !== null) this.tokens.cursor = at;
    const live = this.chosen.querySelector("[data-live]");
    if (live instanceof HTMLElement) live.hidden = Boolean(api.bundle) || data.view.side !== "a";
    this.tokens.recolour();
    this.mini.show({ chosen: at });
  }

  pin() {
    const { layer, token, pins } = this.data.view;
    if (token !== null) this.data.views.set({ pins: [...pins.filter(([l, t]) => l !== layer || t !== token), [layer, token]] });
    this.tell(`Pinned: ${this.data.view.pins.length} of them go into a page without a server.`);
  }

  /** @param {number} number */
  fold(number) {
    const { folded } = this.data.view;
    this.data.views.set({ folded: folded.includes(number) ? folded.filter((one) => one !== number) : [...folded, number] });
  }

  /** @param {[number, number]} range */
  paint([first, last]) {
    this.painting.hidden = !(this.data.shown?.can.classes && !this.previewed);
    const [label] = this.painting.children;
    if (label) label.textContent = `tokens ${first}–${last}`;
    if (this.painting.hidden) this.tell("Measure the prompt first, or write a rule: painted stretches belong to measured text.");
    else if (!this.tokens.contains(document.activeElement)) this.name.focus({ preventScroll: true });
  }

  unpaint() {
    this.painting.hidden = true;
    this.tokens.unpaint();
  }

  /** @param {Event} event */
  painted(event) {
    event.preventDefault();
    const tokens = this.data.shown?.tokens;
    const range = this.tokens.painted;
    if (!tokens || !range) return;
    this.classes.paint(this.name.value.trim(), [tokens.starts[range[0]] ?? 0, tokens.stops[range[1]] ?? 0]);
    this.name.value = "";
    this.unpaint();
  }

  /** Measure the prompt with a text typed in before the chosen token. */
  async inserted() {
    const { data } = this;
    const at = data.view.token;
    if (!data.a?.tokens || at === null || !this.insert.value) return;
    const { id } = data.a;
    const body = { at: data.a.tokens.starts[at] ?? 0, text: this.insert.value };
    await this.compare(() => api.post(`prompts/${id}/insert`, body));
  }

  /** Measure something and put it beside what is shown. @param {() => Promise<unknown>} ask */
  async compare(ask) {
    const id = await this.prompt.run(ask);
    if (id) this.data.views.set({ against: id, side: "diff", token: null });
  }

  /** Paint the chosen token as a class of its own, and see what hiding it does. */
  hide() {
    const { tokens } = this.data.shown ?? {};
    const at = this.data.view.token;
    if (!tokens || at === null) return;
    this.classes.paint(`token-${at}`, [tokens.starts[at] ?? 0, tokens.stops[at] ?? 0]);
    void this.matter.ask();
  }

  /** @param {string} label */
  async inModel(label) {
    const id = this.data.a?.id;
    if (id) await this.compare(() => api.post(`prompts/${id}/in-model`, { model: label }));
  }
}

customElements.define("mind-explorer", MindExplorer);
