// The server's answers, or those that a bundle recorded. Everything else asks here.
// @ts-check

export const bundle = window.MINDSHARE_BUNDLE ?? null;
const token = new URLSearchParams(location.search).get("token") ?? "";

/** What went wrong, in the words of the server. */
export class Refusal extends Error {
  /** @param {number} status @param {Problem} problem */
  constructor(status, problem) {
    super(problem.what);
    this.status = status;
    this.problem = problem;
  }
}

/** The name under which a bundle keeps an answer: the same rule as in bundle.py.
 * @param {string} method @param {string} path @param {unknown} [body] */
export function answerName(method, path, body) {
  return body === undefined ? `${method} ${path}` : `${method} ${path} ${sorted(body)}`;
}

/** JSON with its keys in order. @param {unknown} value @returns {string} */
export function sorted(value) {
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).filter(([, one]) => one !== undefined);
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, one]) => `${JSON.stringify(key)}:${sorted(one)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** @param {string} method @param {string} path @param {unknown} [body]
 * @param {AbortSignal} [signal] @returns {Promise<Response>} */
async function ask(method, path, body, signal) {
  /** @type {Record<string, string>} */
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const content = body === undefined ? undefined : JSON.stringify(body);
  let response;
  try {
    response = await fetch(`api/${path}`, { method, headers, body: content, signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    const next = "start it again: mindshare explore; what was measured is kept";
    const gone = { what: "the server does not answer", where: null, allowed: null, next_step: next };
    throw new Refusal(0, gone);
  }
  if (response.ok) return response;
  let problem = { what: response.statusText, where: null, allowed: null, next_step: null };
  try {
    problem = (await response.json()).problem;
  } catch {
    // no JSON: the status says all there is
  }
  throw new Refusal(response.status, problem);
}

/** @param {string} name */
function recorded(name) {
  const answer = bundle?.answers[name];
  if (answer !== undefined) return answer;
  throw new Refusal(404, {
    what: "this page was saved without that",
    where: null,
    allowed: "the aggregates and the pinned rows",
    next_step: "open it with a server: mindshare explore",
  });
}

/** @template T @param {string} path @param {AbortSignal} [signal] @returns {Promise<T>} */
export async function get(path, signal) {
  if (bundle) return /** @type {T} */ (recorded(answerName("GET", path)));
  return (await ask("GET", path, undefined, signal)).json();
}

/** @template T @param {string} path @param {unknown} body @param {AbortSignal} [signal]
 * @returns {Promise<T>} */
export async function post(path, body, signal) {
  if (bundle) return /** @type {T} */ (recorded(answerName("POST", path, body)));
  return (await ask("POST", path, body, signal)).json();
}

/** @param {string} path @param {unknown} body @returns {Promise<Blob>} */
export async function download(path, body) {
  if (bundle) recorded(answerName("POST", path, body));
  return (await ask("POST", path, body)).blob();
}

/** @param {string} path */
export async function remove(path) {
  return (await ask("DELETE", path)).json();
}

/** One row, column or profile. @param {string} path @param {AbortSignal} [signal]
 * @returns {Promise<Float32Array>} */
export async function line(path, signal) {
  if (bundle) {
    const { values } = /** @type {{values: number[]}} */ (recorded(answerName("GET", path)));
    return Float32Array.from(values);
  }
  const answer = await ask("GET", `${path}&form=f32`, undefined, signal);
  return new Float32Array(await answer.arrayBuffer());
}

/** Wait for a job. @param {Job} job @param {(job: Job) => void} tell @returns {Promise<string>} */
export async function finished(job, tell) {
  let pause = 40;
  for (;;) {
    tell(job);
    if (job.state === "done") return job.result ?? "";
    if (job.state === "failed" && job.problem) throw new Refusal(422, job.problem);
    if (job.state === "cancelled") {
      const what = "the job was cancelled";
      throw new Refusal(499, { what, where: null, allowed: null, next_step: null });
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(pause * 1.3, 400);
    job = await get(`jobs/${job.id}`);
  }
}
