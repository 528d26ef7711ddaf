// "Does it matter?": hide the chosen class from the last token, and see what the answer loses.
// @ts-check
import * as api from "./api.js";
import { short } from "./colour.js";
import { h } from "./dom.js";
import { classesBody } from "./view.js";

/** @typedef {import("./data.js").Data} Data */

export class MatterPanel extends HTMLElement {
  constructor() {
    super();
    /** @type {Data | null} */
    this.data = null;
    /** Starts a job and shows how far it is. @type {(ask: () => Promise<unknown>) => Promise<boolean>} */
    this.run = async () => false;
    this.words = h("p", { class: "words" });
    this.answer = h("input", { type: "text", size: 18, maxlength: 1000, placeholder: "the model's own", "aria-label": "answer that is judged; empty: the model's own" });
    this.all = h("input", { type: "checkbox" });
    this.over = h("label", { class: "check" }, this.all, h("span", {}, ""));
    this.go = h("button", { type: "button", onclick: () => void this.ask() }, "Does it matter?");
    this.form = h("div", { class: "row" }, this.go, h("label", { class: "check" }, "answer ", this.answer), this.over);
    this.said = h("p", { class: "words", role: "status" });
    this.rows = h("tbody");
    this.table = h("table", { class: "effects" }, this.rows);
    this.map = h("button", { type: "button", onclick: () => this.onMap() }, "Show it in the map of heads");
  }

  connectedCallback() {
    this.append(this.words, this.form, this.said, this.table, this.map);
    this.show();
  }

  /** Prompts of the same model that were measured here, beside the one that is shown. */
  others() {
    const source = this.data?.shown;
    return this.data?.server.prompts.filter((one) => one.live && one.model === source?.model && one.id !== source?.id) ?? [];
  }

  show() {
    const { data } = this;
    const source = data?.shown;
    this.hidden = true;
    if (!data || !source) return;
    const { view } = data;
    const named = data.shownClasses?.names.includes(view.cls) && view.cls !== "other" && view.cls !== "sink_slot";
    const live = source.can.rows && !api.bundle && data.server.models.length > 0;
    const effect = named ? data.effect(source) : null;
    this.hidden = !(live || effect);
    const where = view.head === null ? `all heads of layer ${view.layer}` : `layer ${view.layer}, head ${view.head}`;
    this.words.textContent = named
      ? `Hide ${view.cls} from the last token, in ${where}: what does the answer lose?`
      : "Choose a class above, or a token, to hide it and see what the answer loses.";
    this.form.hidden = !live;
    this.go.disabled = !named;
    const painted = view.classes.some((one) => one.rule.startsWith("span:"));
    this.over.hidden = painted || !this.others().length;
    const [, count] = this.over.children;
    if (count) count.textContent = `over all ${this.others().length + 1} prompts`;
    this.result(effect, where);
  }

  /** @param {Effect | null} effect @param {string} where */
  result(effect, where) {
    const view = this.data?.view;
    const row = effect?.layers.indexOf(view?.layer ?? -1) ?? -1;
    const column = effect?.each ? view?.head ?? -1 : view?.head === null ? 0 : -1;
    const there = effect !== null && row >= 0 && column >= 0;
    this.map.hidden = !effect;
    this.table.hidden = !there;
    this.said.textContent = !effect ? "" : !there
      ? `Known of ${effect.each ? "single heads: choose one" : "whole layers: choose “mean” as the head, or ask again"}.`
      : `${effect.class} hidden in ${where}${effect.answers.length === 1 ? `; the answer is ${JSON.stringify(effect.answers[0])}, log-probability ${short(effect.logprob)}` : ""}${effect.prompts > 1 ? `; mean over ${effect.prompts} prompts, ${effect.prompts < effect.fewest ? `an interval needs ${effect.fewest}` : "with 95 % intervals"}` : ""}.`;
    if (!effect || !there) return;
    this.rows.replaceChildren(...Object.entries(effect.measures).map(([name, { mean, low, high }]) => {
      const known = this.data?.measure(name);
      const [a, b] = [low[row]?.[column], high[row]?.[column]];
      const span = a === null || a === undefined ? "" : ` [${short(a)}, ${short(b)}]`;
      return h("tr", { title: known?.definition }, h("th", { scope: "row" }, known?.title ?? name),
        h("td", { class: "number" }, short(mean[row]?.[column]) + span), h("td", {}, known?.short ?? ""));
    }));
  }

  /** Hide the chosen class; where two models are compared, in both. */
  async ask() {
    const { data } = this;
    if (!data?.shown) return;
    const { view } = data;
    const also = this.all.checked && !this.over.hidden ? this.others().map(({ id }) => id) : [];
    const body = { ...classesBody(view), cls: view.cls, each: view.head !== null, answer: this.answer.value || null, also };
    const both = view.side === "diff" && data.a && data.b && data.comparison?.kind === "models";
    for (const one of both ? [data.a, data.b] : [data.shown]) {
      if (!one || !(await this.run(() => api.post(`prompts/${one.id}/effects`, both ? { ...body, also: [] } : body)))) return;
      await data.reload(one.id);
    }
  }

  onMap() {
    const effect = this.data?.shown && this.data.effect(this.data.shown);
    const [first] = Object.keys(effect?.measures ?? {});
    if (first) this.data?.views.set({ measure: first });
  }
}

customElements.define("matter-panel", MatterPanel);
