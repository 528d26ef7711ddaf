// What the server knows of the view: sources, classes, one line at a time. Draws nothing.
// @ts-check
import * as api from "./api.js";
import { Scale } from "./colour.js";
import { classesBody, layerWords, Views } from "./view.js";

const KEPT = 300; // lines that are not asked for again

/** The numbers that the text is coloured by. */
export class Line {
  /** @param {Float32Array} values @param {Scale} scale @param {string} words */
  constructor(values, scale, words) {
    this.values = values;
    this.scale = scale;
    this.words = words;
  }
}

/** Tells `source`, `classes`, `line`, `problem` and `list` when these have changed. */
export class Data extends EventTarget {
  constructor() {
    super();
    this.views = new Views();
    /** @type {ServerState} */
    this.server = {
      version: "", models: [], prompts: [], measures: [], limits: { tokens: 0, characters: 0 },
    };
    /** @type {Source | null} */
    this.a = null;
    /** @type {Source | null} */
    this.b = null;
    /** @type {Classes | null} */
    this.classesA = null;
    /** @type {Classes | null} */
    this.classesB = null;
    /** @type {Comparison | null} */
    this.comparison = null;
    /** @type {Map<number, number>} */
    this.toB = new Map();
    /** @type {Map<number, number>} */
    this.toA = new Map();
    /** @type {Line | null} */
    this.line = null;
    /** @type {number | null} */
    this.hover = null;
    /** @type {Map<string, Float32Array>} */
    this.lines = new Map();
    this.asked = 0;
    this.busy = false;
    this.classesAsked = 0;
    this.views.on((changed) => void this.follow(changed));
  }

  get view() {
    return this.views.now;
  }

  /** @param {string} name */
  tell(name) {
    this.dispatchEvent(new Event(name));
  }

  /** @param {unknown} error */
  fail(error) {
    this.dispatchEvent(new CustomEvent("problem", { detail: error }));
  }

  /** The source whose text is shown. */
  get shown() {
    return this.view.side === "a" || !this.b ? this.a : this.b;
  }

  get shownClasses() {
    return this.view.side === "a" || !this.b ? this.classesA : this.classesB;
  }

  async start() {
    this.server = await api.get("state");
    this.tell("list");
    await this.follow(new Set(["prompt", "against"]));
  }

  async refresh() {
    this.server = await api.get("state");
    this.tell("list");
  }

  /** @param {Set<string>} changed */
  async follow(changed) {
    try {
      const ids = changed.has("prompt") || changed.has("against");
      if (ids) await this.open();
      const by = ["classes", "spans", "policy", "seen"];
      const seenToken = changed.has("token") && this.view.seen === "token";
      if (ids || seenToken || by.some((one) => changed.has(one))) await this.count();
      if (changed.has("side")) this.tell("source");
      const lines = ["layer", "head", "token", "direction", "lift", "side", "log", "first"];
      if (ids || lines.some((one) => changed.has(one))) await this.look();
    } catch (error) {
      this.fail(error);
    }
  }

  async open() {
    const { prompt, against } = this.view;
    if (prompt !== (this.a?.id ?? "")) this.a = prompt ? await this.source(prompt) : null;
    if (against !== (this.b?.id ?? "")) this.b = against ? await this.source(against) : null;
    this.comparison = null;
    this.toA.clear();
    this.toB.clear();
    if (this.a && this.b) {
      /** @type {Comparison} */
      const found = await api.post("compare", { a: this.a.id, b: this.b.id });
      this.comparison = found;
      for (const [x, y] of found.pairs ?? []) {
        this.toB.set(x, y);
        this.toA.set(y, x);
      }
    }
    if (this.a && !this.a.layers.includes(this.view.layer)) {
      this.views.now.layer = this.a.layers[Math.floor(this.a.layers.length / 2)] ?? 0;
    }
    if (this.a && !this.a.can.classes && this.a.classes.length) {
      this.views.now.classes = this.a.classes;
    }
    const count = this.shown?.tokens?.pieces.length ?? 0;
    if ((this.view.token ?? -1) >= count) this.views.now.token = null;
    if (this.view.head !== null && this.view.head >= (this.a?.heads ?? 0)) this.views.now.head = null;
    this.tell("source");
  }

  /** @param {string} id @returns {Promise<Source>} */
  source(id) {
    return api.get(`prompts/${encodeURIComponent(id)}`);
  }

  /** Ask for the classes' masses. */
  async count() {
    if (!this.a) {
      this.classesA = this.classesB = null;
      this.tell("classes");
      return;
    }
    const ask = (this.classesAsked += 1);
    const view = this.view;
    const of = (/** @type {Source} */ one, /** @type {number | null} */ token) => {
      const body = one.can.classes ? classesBody(view) : { classes: [], spans: {}, policy: "priority" };
      return this.kept(one, () =>
        api.post(`prompts/${encodeURIComponent(one.id)}/classes`, { ...body, token }));
    };
    const token = view.seen === "token" ? view.token : null;
    const onA = view.side === "a" || !this.b ? token : token === null ? null : this.toA.get(token);
    const onB = view.side === "a" || !this.b ? (token === null ? null : this.toB.get(token)) : token;
    /** @type {[Classes | null, Classes | null]} */
    const found = await Promise.all([
      onA === undefined ? null : of(this.a, onA),
      this.b && onB !== undefined ? of(this.b, onB) : null,
    ]);
    if (ask !== this.classesAsked) return; // a later question is on its way
    [this.classesA, this.classesB] = found;
    const names = (this.classesA ?? this.classesB)?.names ?? [];
    if (!names.includes(view.cls)) this.views.now.cls = names[0] ?? "";
    this.tell("classes");
  }

  /** Ask; where queries and keys were given up, bring them back and ask again.
   * @template T @param {Source} source @param {() => Promise<T>} question @returns {Promise<T>} */
  async kept(source, question) {
    try {
      return await question();
    } catch (error) {
      if (!(error instanceof api.Refusal) || error.status !== 409) throw error;
      const job = /** @type {Job} */ (await api.post(`prompts/${source.id}/again`, {}));
      await api.finished(job, (now) => {
        this.dispatchEvent(new CustomEvent("job", { detail: now }));
      });
      return question();
    }
  }

  /** One row, column or profile of a source. @param {Source} source @param {number} token
   * @returns {Promise<Float32Array>} */
  async ask(source, token) {
    const { direction, layer, head, lift } = this.view;
    const of = head === null ? "" : `&head=${head}`;
    const at = direction === "received" ? "" : `&token=${token}`;
    const ratio = lift && direction !== "received" ? "&lift=true" : "";
    const path = `prompts/${encodeURIComponent(source.id)}/${direction}?layer=${layer}${at}${of}${ratio}`;
    const known = this.lines.get(path);
    if (known) return known;
    const found = await this.kept(source, () => api.line(path));
    this.lines.set(path, found);
    const oldest = this.lines.keys().next().value;
    if (this.lines.size > KEPT && oldest !== undefined) this.lines.delete(oldest);
    return found;
  }

  /** @param {number | null} token */
  point(token) {
    if (token === this.hover) return;
    this.hover = token;
    if (this.view.token === null) void this.look();
  }

  /** Fetch the line that is to be shown; while one is on its way, only the newest wish counts. */
  async look() {
    this.asked += 1;
    if (this.busy) return;
    this.busy = true;
    try {
      for (let ask = -1; ask !== this.asked;) {
        ask = this.asked;
        this.line = await this.found();
        if (ask === this.asked) this.tell("line");
      }
    } catch (error) {
      this.line = null;
      this.tell("line");
      this.fail(error);
    } finally {
      this.busy = false;
    }
  }

  /** @returns {Promise<Line | null>} */
  async found() {
    const source = this.shown;
    const { direction, lift, log, first, side } = this.view;
    const token = this.view.token ?? this.hover;
    if (!source?.tokens) return null;
    if (direction === "received" ? !source.can.received : token === null || !source.can.rows) return null;
    const at = token ?? 0;
    const ratio = lift && direction !== "received";
    const skip = first ? -1 : 0;
    if (side === "diff" && this.a && this.b) {
      const partner = direction === "received" ? 0 : this.toA.get(at);
      if (partner === undefined || !this.comparison?.pairs) return null;
      const [of_b, of_a] = await Promise.all([this.ask(this.b, at), this.ask(this.a, partner)]);
      const values = new Float32Array(of_b.length).fill(Number.NaN);
      for (const [x, y] of this.comparison.pairs) {
        values[y] = ratio ? (of_b[y] ?? 0) / Math.max(of_a[x] ?? 0, 1e-12) : (of_b[y] ?? 0) - (of_a[x] ?? 0);
      }
      if (!first) values[0] = Number.NaN;
      return new Line(values, Scale.of(ratio ? "ratio" : "difference", values, skip), this.words(at));
    }
    const values = (await this.ask(source, at)).slice();
    if (!first) values[0] = Number.NaN;
    return new Line(values, Scale.of(ratio ? "ratio" : log ? "log" : "amount", values, skip), this.words(at));
  }

  /** The definition of what the text shows. @param {number} token */
  words(token) {
    const { direction, layer, head, lift, first, side } = this.view;
    const where = `${layerWords(layer)}, ${head === null ? "mean over the heads" : `head ${head}`}`;
    const piece = JSON.stringify(this.shown?.tokens?.pieces[token] ?? "");
    const what = {
      row: `A[${token}, j]: what token ${token} (${piece}) gives to each token j`,
      column: `A[i, ${token}]: what each token i gives to token ${token} (${piece})`,
      received: `${this.measure("received")?.definition ?? ""} (here with the diagonal)`,
    }[direction];
    const parts = [`${what}; ${where}; after softmax, exactly as the model uses it.`];
    if (lift && direction !== "received") parts.push("Lift: times the number of tokens the query can see; 1 = no preference.");
    if (side === "diff") parts.push("Difference: B − A, where both have the token.");
    if (!first) parts.push("The first token is not drawn; sums keep it.");
    return parts.join(" ");
  }

  /** @param {string} name */
  measure(name) {
    return this.server.measures.find((one) => one.name === name);
  }

  /** What hiding the chosen class does, if that was asked: by head, or by layer where a mean is
   * chosen. Of the class as its rules are now. @param {Source} source @returns {Effect | null} */
  effect(source) {
    const { cls, head } = this.view;
    const now = api.sorted(classesBody(this.view));
    const fits = source.effects.filter((one) => one.class === cls && (!one.asked ||
      api.sorted({ classes: one.asked.classes, spans: one.asked.spans, policy: one.asked.policy }) === now));
    return fits.filter((one) => one.each === (head !== null)).at(-1) ?? fits.at(-1) ?? null;
  }

  /** Whether the chosen measure is one of a class. */
  get ofClass() {
    return ["class", "effect"].includes(this.measure(this.view.measure)?.level ?? "");
  }

  /** Fetch a source anew. @param {string} id */
  async reload(id) {
    const found = await this.source(id);
    if (this.a?.id === id) this.a = found;
    if (this.b?.id === id) this.b = found;
    this.tell("classes");
  }

  /** [layer][head] of the chosen measure on a side; null where it is not known.
   * @param {"a" | "b"} side @returns {(number | null)[][] | null} */
  grid(side) {
    const source = side === "a" ? this.a : this.b;
    const classes = side === "a" ? this.classesA : this.classesB;
    const { measure, cls } = this.view;
    if (!source) return null;
    if (this.measure(measure)?.level === "effect") return this.effect(source)?.measures[measure]?.mean ?? null;
    if (!this.ofClass) return source.measures[measure] ?? null;
    const column = classes?.names.indexOf(cls) ?? -1;
    const whole = classes?.measures[measure];
    return !whole || column < 0 ? null : whole.map((heads) => heads.map((one) => one[column] ?? null));
  }

  /** What the map of heads shows, with its scale; `byHead`: its columns are heads. */
  map() {
    const { side, measure } = this.view;
    const known = this.measure(measure);
    const source = this.shown;
    const effect = source && known?.level === "effect" ? this.effect(source) : null;
    const byHead = effect ? effect.each : Boolean(source?.heads);
    if (side === "diff" && this.b) {
      const [a, b] = [this.grid("a"), this.grid("b")];
      if (!a || !b || !this.comparison?.heads) return null;
      const values = b.map((row, l) => row.map((one, k) => {
        const other = a[l]?.[k];
        return one === null || other === null || other === undefined ? null : one - other;
      }));
      return { values, byHead, scale: Scale.of("difference", values.flat()) };
    }
    const values = this.grid(side === "b" && this.b ? "b" : "a");
    if (!values) return null;
    const kind = known?.unit === "ratio" && known.neutral === 1 ? "ratio"
      : known?.scale === "diverging" && known.neutral === 0 ? "difference"
        : this.view.log ? "log" : "amount";
    return { values, byHead, scale: Scale.of(kind, values.flat()) };
  }
}
