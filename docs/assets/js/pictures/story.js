// @ts-check
// THE POOL, told: a recorded list of actions that the reader goes through one by one. What the pool is after each is worked
// out as in the pool that the reader drives; a test holds it to what Python recorded for the same actions.

import { codes } from "../blocks/actions.js";
import * as pool from "./blocks.js";
import { numberCell, clipAt, drawnDims, recordingOf } from "./common.js";
import { spoken, token, whole } from "../format.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {{script: string, names: string[], design: string, block_tokens: number, slots: number, labels: Record<string, string>}} Told */
/** @typedef {import("./common.js").Context & {grid: Record<string, Told>}} Context */

export const bySteps = false;

/** @param {Context} context */
function told(context) {
  return context.grid[context.options.story];
}

/** What an action is called, in a few words; requests get their letters in order. @param {Told} story @returns {string[]} */
function named({ script, labels }) {
  let made = 0;
  const letter = () => String.fromCharCode(65 + made++);
  const words = /** @type {Record<string, (rest: string) => string>} */ ({
    n: (rest) => `${letter()} begins: ${labels[rest] ?? rest}`, d: (rest) => `${rest} writes a token`, w: (rest) => `${rest} writes another`, f: (rest) => `${letter()} forks from ${rest}`, e: (rest) => `${rest} ends`,
  });
  return ["nothing yet", ...codes(script).map((code) => words[code[0]](code.slice(1)))];
}

/** @param {State} _state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(_state, context) {
  const names = named(told(context)).map((text, at) => `${at} · ${text}`);
  return [{ name: "action", label: "Action", kind: "range", value: names.length - 1, min: 0, max: names.length - 1, names }];
}

/** @param {Context} context */
function inner(context) {
  const { story } = context.options;
  const options = { controls: false, names: told(context).names, parts: ["pool", "legend", "sums", "log"], ...(story === "prompt" ? { sequences: "sharing" } : {}) };
  return { ...context, options };
}

/** @param {State} state @param {Context} context */
export function needs(state, context) {
  const sharing = `${recordingOf(state, context).model}/sharing`;
  return context.options.story === "prompt" ? [sharing] : [...pool.needs({}, inner(context)), sharing];
}

/** @param {State} state @param {import("./common.js").Records} records @param {Context} context */
export function draw(state, records, context) {
  const { script, design, block_tokens: block, slots } = told(context);
  const done = codes(script).slice(0, Number(state.action));
  const drawn = pool.draw({ preset: "empty", design, block, slots, do: done.join(".") }, records, inner(context));
  const words = context.options.story === "prompt" ? "the shared prompt" : "the copy"; // a page has both
  const model = { ...drawn, parts: drawn.parts.map((/** @type {any} */ part) => (part.kind === "log" ? { ...part, label: `Events of ${words}, newest first` } : part)) };
  if (context.options.story === "prompt") return model;
  return { ...model, credit: recordingOf(state, context).credit, parts: [...model.parts.slice(0, 2), ...rows(records, `${recordingOf(state, context).model}/sharing`, done.length === codes(script).length), ...model.parts.slice(2)] };
}

/** The rows of K in the block that was copied and in its copy; before the last action neither is complete.
 *  @param {import("./common.js").Records} records @param {string} file @param {boolean} complete */
function rows(records, file, complete) {
  const { copy } = records[file];
  const both = [...copy.rows.A.k, ...copy.rows.B.k];
  const [clip, dims] = [clipAt(both.flat()), drawnDims("first", both)];
  const row = (/** @type {string} */ who, /** @type {number} */ at) => {
    const [text, values] = [copy.texts[who][at], copy.rows[who].k[at]];
    const own = at >= copy.tokens;
    return {
      head: { text: token(text, true), sub: String(copy.first_position + at) }, mark: own && complete ? "new" : undefined,
      cells: complete ? dims.map((d) => numberCell(values[d], "key", clip, file, `copy.rows.${who}.k.${at}.${d}`, `K of ${spoken(text)}, ${who}, number ${d}`))
        : dims.map((d) => ({ kind: "blank", text: "", say: `${who}, ${spoken(text)}, number ${d}: not yet` })),
    };
  };
  const table = (/** @type {string} */ who, /** @type {string} */ words) => [
    { kind: "title", role: "key", text: words },
    { kind: "table", name: `copy-${who.toLowerCase()}`, look: "numbers", corner: "token", label: `${words}, layer ${copy.layer}, KV head ${copy.kv_head}`, columns: dims.map((d) => ({ text: String(d) })), rows: copy.texts[who].map((/** @type {string} */ _, /** @type {number} */ at) => row(who, at)) },
  ];
  return [...table("B", `Block ${copy.source}, of B: K as it was, and B’s own row`), ...table("A", `Block ${copy.target}, of A: ${whole(copy.tokens)} rows copied, and A’s own row`)];
}
