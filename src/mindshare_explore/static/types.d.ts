// Shapes of what the server answers; for the type checker only, never sent to a browser.

interface Tokens {
  text: string;
  pieces: string[];
  starts: number[];
  stops: number[];
  special: number[];
}

interface Classes {
  names: string[];
  colours: string[];
  counts: number[];
  labels: number[] | null;
  measures: Record<string, (number | null)[][][]>;
}

interface ClassRule { name: string; rule: string }

interface Known { layer: number; head: number; name: string }

interface Effect {
  class: string;
  each: boolean;
  queries: string;
  prompts: number;
  fewest: number;
  layers: number[];
  answers: string[];
  logprob: number | null;
  asked: { classes: ClassRule[]; spans: Record<string, [number, number][]>; policy: string } | null;
  measures: Record<string, Record<"mean" | "low" | "high", (number | null)[][]>>;
}

interface Source {
  id: string;
  model: string;
  title: string;
  layers: number[];
  heads: number;
  tokens: Tokens | null;
  can: { rows: boolean; classes: boolean; received: boolean; kept: boolean };
  classes: ClassRule[];
  prompt: { text?: string; messages?: { role: string; content: string }[] } | null;
  measures: Record<string, (number | null)[][]>;
  known: Known[];
  effects: Effect[];
}

interface Measure {
  name: string;
  title: string;
  level: string;
  definition: string;
  short: string;
  unit: string;
  neutral: number | null;
  scale: string;
}

interface Listed { id: string; model: string; title: string; live: boolean }

interface ServerState {
  version: string;
  models: { label: string; ready: boolean }[];
  prompts: Listed[];
  measures: Measure[];
  limits: { tokens: number; characters: number };
}

interface Job {
  id: string;
  title: string;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  doing: string;
  done: number;
  total: number;
  result: string | null;
  problem: Problem | null;
  seconds: number | null;
}

interface Problem { what: string; where: string | null; allowed: string | null; next_step: string | null }

interface Comparison {
  kind: "models" | "same tokens" | "versions" | "classes";
  heads: boolean;
  pairs: [number, number][] | null;
  parts: string[] | null;
  why?: string;
}

interface View {
  prompt: string;
  against: string;
  side: "a" | "b" | "diff";
  layer: number;
  head: number | null;
  token: number | null;
  direction: "row" | "column" | "received";
  measure: string;
  cls: string;
  log: boolean;
  first: boolean;
  lift: boolean;
  seen: "all" | "token";
  picture: "text" | "map";
  classes: ClassRule[];
  spans: Record<string, [number, number][]>;
  policy: string;
  folded: number[];
  pins: [number, number][];
  model: string;
}

interface Bundle { answers: Record<string, unknown>; view: string }

interface Window {
  MINDSHARE_BUNDLE?: Bundle;
  vegaEmbed?: (element: HTMLElement, spec: object, options: object) => Promise<{
    view: { toSVG(): Promise<string>; toImageURL(kind: string, scale: number): Promise<string> };
    finalize(): void;
  }>;
}
