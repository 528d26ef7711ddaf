// A prompt, typed, pasted or opened from a file: its tokens at once, its numbers when measured.
// @ts-check
import * as api from "./api.js";
import { h, later } from "./dom.js";
import { classesBody } from "./view.js";

/** @typedef {import("./data.js").Data} Data */
/** @typedef {{role: string, content: string}} Message */

const EXAMPLE = `Here is a map. # is rock, * is a star.
######
#*  *#
# *  #
######
Where are the stars?`;
const ROLES = ["system", "user", "assistant"];

export class PromptPanel extends HTMLElement {
  constructor() {
    super();
    /** @type {Data | null} */
    this.data = null;
    this.model = h("select", { "aria-label": "model", onchange: () => this.changed() });
    this.text = h("textarea", {
      rows: 7, "aria-label": "the prompt", spellcheck: "false", oninput: () => this.changed(),
      placeholder: "Type or paste a prompt; a JSON list of messages becomes a chat.",
    });
    this.chat = h("div", { class: "messages" });
    this.kind = h("select", { "aria-label": "text or chat", onchange: () => this.switched() },
      h("option", { value: "text" }, "text"), h("option", { value: "chat" }, "chat"));
    this.file = h("input", { type: "file", accept: ".txt,.md,.json,.jsonl,text/*", hidden: true, onchange: () => void this.opened() });
    this.go = h("button", { type: "button", class: "main", onclick: () => void this.measure() }, "Measure");
    this.stop = h("button", { type: "button", hidden: true, onclick: () => void this.cancel() }, "Cancel");
    this.bar = h("progress", { max: "1", value: "0", hidden: true, "aria-label": "how far the measuring is" });
    this.said = h("span", { class: "said", role: "status" });
    /** @type {Job | null} */
    this.job = null;
    this.asked = 0;
    this.measured = ""; // the prompt whose numbers are shown
    this.changed = later(() => void this.preview(), 180);
  }

  connectedCallback() {
    this.append(
      this.text, this.chat,
      h("div", { class: "row" }, this.model, this.kind,
        h("button", { type: "button", onclick: () => this.file.click() }, "Open a file…"), this.file,
        this.go, this.stop, this.bar, this.said));
    this.chat.hidden = true;
    this.text.addEventListener("paste", () => setTimeout(() => this.pasted(), 0));
    this.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.measure();
    });
  }

  list() {
    const models = this.data?.server.models ?? [];
    const chosen = this.model.value || this.data?.view.model;
    this.model.replaceChildren(...models.map(({ label }) => h("option", { value: label }, label)));
    if (models.some(({ label }) => label === chosen)) this.model.value = chosen ?? "";
    this.model.hidden = models.length < 2;
    this.hidden = models.length === 0;
  }

  begin() {
    this.text.value = EXAMPLE;
    const view = this.data?.view;
    if (view && !view.classes.length) {
      const classes = [{ name: "rock", rule: "#" }, { name: "star", rule: "*" }];
      this.data?.views.set({ classes, cls: "star" });
    }
    this.changed();
  }

  /** The prompt as the server takes it. */
  body() {
    const model = this.model.value;
    if (this.kind.value === "chat") return { model, messages: this.messages() };
    return { model, text: this.text.value };
  }

  /** @returns {Message[]} */
  messages() {
    return [...this.chat.querySelectorAll(".message")].map((one) => ({
      role: one.querySelector("select")?.value ?? "user",
      content: one.querySelector("textarea")?.value ?? "",
    }));
  }

  /** @param {Message} message */
  turn(message) {
    const row = h("div", { class: "message" });
    const roles = [...new Set([...ROLES, message.role])];
    const role = h("select", { "aria-label": "who speaks", onchange: () => this.changed() },
      ...roles.map((one) => h("option", { value: one }, one)));
    role.value = message.role;
    row.append(role,
      h("textarea", { rows: 3, "aria-label": "what is said", value: message.content, spellcheck: "false", oninput: () => this.changed() }),
      h("button", { type: "button", class: "plain", "aria-label": "remove this message", onclick: () => { row.remove(); this.changed(); } }, "×"));
    return row;
  }

  /** @param {Message[]} messages */
  asChat(messages) {
    this.kind.value = "chat";
    this.text.hidden = true;
    this.chat.hidden = false;
    this.chat.replaceChildren(...messages.map((one) => this.turn(one)),
      h("button", {
        type: "button", onclick: (/** @type {Event} */ event) => {
          /** @type {Element} */ (event.target).before(this.turn({ role: "user", content: "" }));
        },
      }, "Add a message"));
    this.changed();
  }

  /** @param {string} text */
  asText(text) {
    this.kind.value = "text";
    this.text.hidden = false;
    this.chat.hidden = true;
    this.text.value = text;
    this.changed();
  }

  /** A prompt that was opened, so that it can be changed. @param {Source} source */
  fill(source) {
    if (!source.prompt) return;
    this.model.value = source.model;
    if (source.prompt.messages) this.asChat(source.prompt.messages);
    else this.asText(source.prompt.text ?? "");
    this.measured = JSON.stringify(this.body());
  }

  switched() {
    if (this.kind.value === "chat") this.asChat([{ role: "user", content: this.text.value }]);
    else this.asText(this.messages().map((one) => one.content).join("\n"));
  }

  pasted() {
    const messages = chatIn(this.text.value);
    if (messages) this.asChat(messages);
  }

  async opened() {
    const file = this.file.files?.[0];
    this.file.value = "";
    if (!file) return;
    const most = this.data?.server.limits.characters ?? 0;
    if (file.size > 4 * most) {
      this.said.textContent = `${file.name} is too long: a prompt has at most ${most.toLocaleString("en")} characters.`;
      return;
    }
    const text = await file.text();
    const messages = chatIn(text);
    if (messages) this.asChat(messages);
    else this.asText(text);
  }

  async preview() {
    if (!this.model.value || this.hidden) return;
    const ask = (this.asked += 1);
    const view = this.data?.view;
    if (!view || this.go.disabled) return; // while one is measured, its tokens stay
    if (JSON.stringify(this.body()) === this.measured) {
      this.dispatchEvent(new Event("unchanged"));
      return;
    }
    const painted = view.prompt ? view : { ...view, classes: view.classes.filter((one) => !one.rule.startsWith("span:")) };
    try {
      const found = await api.post("tokens", { ...this.body(), ...classesBody(painted) });
      if (ask !== this.asked) return;
      const { tokens, bos } = /** @type {{tokens: Tokens, bos: {present: boolean, token: string | null}}} */ (found);
      this.said.textContent = `${tokens.pieces.length.toLocaleString("en")} tokens${bos.present ? `, begins with ${bos.token}` : ""}; not measured yet`;
      this.dispatchEvent(new CustomEvent("preview", { detail: found }));
    } catch (error) {
      if (ask === this.asked) this.said.textContent = sentence(error);
    }
  }

  /** Measure what is typed. */
  async measure() {
    if (this.go.disabled) return;
    const body = this.body();
    this.asked += 1; // a preview on its way is of no use any more
    this.measured = JSON.stringify(body);
    const id = await this.run(() => api.post("measure", body));
    const data = this.data;
    if (!id || !data) this.measured = "";
    else if (id === data.view.prompt) data.views.set({ model: this.model.value });
    else {
      const classes = data.view.classes.filter((one) => !one.rule.startsWith("span:"));
      data.views.set({ prompt: id, model: this.model.value, token: null, folded: [], against: "", side: "a", spans: {}, classes });
    }
  }

  /** Start a job and follow it; the id of what came of it, "" if nothing did.
   * @param {() => Promise<unknown>} ask @returns {Promise<string>} */
  async run(ask) {
    this.go.disabled = true;
    try {
      const job = /** @type {Job} */ (await ask());
      const id = await api.finished(job, (now) => this.follow(now));
      await this.data?.refresh();
      this.dispatchEvent(new Event("measured"));
      return id;
    } catch (error) {
      this.said.textContent = sentence(error);
      return "";
    } finally {
      this.follow(null);
    }
  }

  /** @param {Job | null} job */
  follow(job) {
    this.job = job;
    const on = job !== null && (job.state === "waiting" || job.state === "running");
    this.go.disabled = on;
    this.stop.hidden = this.bar.hidden = !on;
    if (!job) return;
    if (job.total) this.bar.value = job.done / job.total;
    else this.bar.removeAttribute("value");
    const layers = job.total > 1 ? `, ${job.done} of ${job.total}` : "";
    this.said.textContent = on ? `${job.state === "waiting" ? "waiting for another job" : job.doing}${layers}` : job.seconds === null ? "" : `measured in ${job.seconds.toFixed(1)} s`;
  }

  async cancel() {
    if (this.job) await api.remove(`jobs/${this.job.id}`);
  }
}

/** A JSON list of messages, if that is what a text is. @param {string} text
 * @returns {Message[] | null} */
export function chatIn(text) {
  if (!/^\s*\[\s*\{/.test(text)) return null;
  try {
    const found = JSON.parse(text);
    const fits = found.every((/** @type {any} */ one) => typeof one.role === "string" && typeof one.content === "string");
    return fits ? found.map((/** @type {any} */ { role, content }) => ({ role, content })) : null;
  } catch {
    return null;
  }
}

/** @param {unknown} error */
export function sentence(error) {
  if (!(error instanceof api.Refusal)) return String(error);
  const { what, where, allowed, next_step } = error.problem;
  return [where ? `${what} (${where})` : what, allowed && `allowed: ${allowed}`, next_step].filter(Boolean).join("; ");
}

customElements.define("prompt-panel", PromptPanel);
