// @ts-check
// The calculator: how many bytes the caches of up to four models take, what the weights leave of a device, and how many
// requests fit. The sizes come from the table of models, or from a config.json that the reader pastes; the bytes are
// counted by memory/arithmetic.js, which is held to Python's answers.

import { FORMATS, Refused, bytesPerToken, cacheSize, leftBytes, requestsThatFit, weightBytes } from "../memory/arithmetic.js";
import { unpack } from "../memory/own.js";
import { adopt } from "../memory/paste.js";
import { binary, both, count, exact, layers, terms, warnings, whole } from "../memory/words.js";

export { adopt };

/** @typedef {import("../state.js").State} State */
/** @typedef {import("../memory/arithmetic.js").Geometry & {verified?: boolean, evidence?: string, unverified_fields?: string[]}} Row */
/** @typedef {{models: {id: string, name: string}[], options: Record<string, any>}} Context */
/** @typedef {{row: Row, size: import("../memory/arithmetic.js").Size, refused?: string, terms: string[], token: Fraction, later: Fraction,
 *             weights: bigint|null, left: bigint|null, fit: bigint|null}} Answer */
/** @typedef {import("../memory/arithmetic.js").Fraction} Fraction */

const TABLE = "geometry/models";
const SLOTS = ["model", "second", "third", "fourth"];
const PRESET = ["gpt-2-small", "llama-2-7b", "llama-3-8b", "llama-2-70b"];
const NAMES = /** @type {Record<string, string>} */ ({ int8: "int8, 16-bit scale per 64", int4: "int4, scale and zero per 64" });
const OWN = { value: "own", text: "pasted config.json" };
const HINT = "Read here: Llama, Mistral, Qwen, Gemma, GPT-2 and DeepSeek. Phi, gpt-oss, Falcon, hybrids and nested text_config are read by python -m gen memory --config FILE. What you paste stays on this page.";
/** How the sizes of a model are known: a word for the cell, and what it means. @type {Record<string, [string, string]>} */
const EVIDENCE = {
  config: ["config.json", "read from the model’s own file"],
  "config-copies": ["config copies", "read from copies of that file"],
  vendor: ["vendor", "the vendor’s report or code states them"],
  "port+params": ["port, checked", "read from another engine’s code, and they give the published number of parameters"],
  secondary: ["not verified", "only a third party states them"],
  own: ["pasted", "from the box above"],
};
const PARTLY = ["partly checked", "named under Beware"];
const EMPTY = { n: 0n, d: 1n };

/** @param {State} _state @param {Context} context @returns {import("../state.js").Field[]} */
export function fields(_state, context) {
  const models = context.models.map(({ id, name }) => ({ value: id, text: name }));
  const none = { value: "none", text: "–" };
  const named = (/** @type {string} */ name, /** @type {string} */ label, /** @type {(string|number)[]} */ values, /** @type {string|number} */ value, text = String, told = true) =>
    ({ name, label, told, kind: /** @type {const} */ ("choice"), value, options: values.map((one) => ({ value: one, text: text(one) })) });
  const typed = (/** @type {string} */ name, /** @type {string} */ label, /** @type {number} */ value, /** @type {number} */ max, told = true) =>
    ({ name, label, told, kind: /** @type {const} */ ("range"), typed: true, value, min: 1, max });
  return [
    ...SLOTS.map((name, i) => ({ name, label: i === 0 ? "Model" : `and model ${i + 1}`, told: false, kind: /** @type {const} */ ("choice"), value: PRESET[i],
      options: i === 0 ? [...models, OWN] : [none, ...models, OWN] })),
    typed("tokens", "Tokens", 4096, 10_000_000),
    typed("batch", "Requests", 1, 100_000),
    named("dtype", "Cache in", ["fp32", "fp16", "bf16", "fp8", "int8", "int4"], "fp16", (value) => NAMES[value] ?? String(value)),
    named("block", "Block", [1, 8, 16, 32, 64, 128, 256], 1, (value) => (value === 1 ? "none" : `${value} tokens`)),
    named("ranks", "Tensor parallel", [1, 2, 4, 8, 16, 32, 64], 1, (value) => (value === 1 ? "1 device" : `${value} devices`)),
    typed("device", "Device, GiB", 80, 10_000, false),
    named("bits", "Weights in", [32, 16, 8, 4], 16, (value) => `${value} bits`, false),
    { name: "own", label: "Paste a config.json", told: false, kind: /** @type {const} */ ("text"), value: "", hint: HINT, fits: (text) => text === "" || unpack(text) !== null },
  ];
}

export function needs() {
  return [TABLE];
}

/** @param {State} state @param {Record<string, any>} records */
export function draw(state, records) {
  const question = { tokens: Number(state.tokens), batch: Number(state.batch), stored: FORMATS[state.dtype], block: Number(state.block), ranks: Number(state.ranks) };
  const chosen = [...new Set(SLOTS.map((name) => String(state[name])))].filter((id) => id !== "none");
  const rows = chosen.map((id) => (id === "own" ? unpack(String(state.own)) : records[TABLE].models[id])).filter((row) => row !== null && row !== undefined);
  const answers = rows.map((/** @type {Row} */ row) => answer(row, question, state));
  const asked = `${count(question.batch, "request")} of ${count(question.tokens, "token")}, ${state.dtype}${question.ranks > 1 ? `, on each of ${question.ranks} devices` : ""}`;
  if (answers.length === 0) return { summary: "Paste a config.json into the box, or choose a model.", parts: [] };
  return {
    summary: `${asked}: ${answers.map((one) => `${one.row.name} ${one.refused ? "does not divide" : binary(total(one))}`).join(", ")}.`,
    parts: [bars(answers, asked), sizes(answers, question, state), key(answers), ...explained(answers, question)],
  };
}

/** @param {Row} row @param {import("../memory/arithmetic.js").Question} question @param {State} state @returns {Answer} */
function answer(row, question, state) {
  const weights = weightBytes(row, Number(state.bits), question.ranks);
  const left = weights === null ? null : leftBytes(Number(state.device), weights);
  try {
    const size = cacheSize(row, question);
    const [token, later] = [false, true].map((full) => bytesPerToken(row, question.stored, question.ranks, full));
    return { row, size, terms: terms(size, row, question), token, later, weights, left, fit: left === null ? null : requestsThatFit(left, size.request) };
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    const size = { groups: [], request: EMPTY, bytes: 0n, stateBytes: 0n };
    return { row, size, refused: problem.message, terms: [], token: EMPTY, later: EMPTY, weights, left, fit: null };
  }
}

/** @param {Answer} one @returns {Fraction} */
function total(one) {
  return { n: one.size.bytes, d: 1n };
}

/** @param {Row} row */
function marked(row) {
  return row.verified === false ? `${row.name} (not verified)` : row.name;
}

/** @param {Answer[]} answers @param {string} asked */
function bars(answers, asked) {
  const largest = answers.reduce((most, one) => (one.size.bytes > most ? one.size.bytes : most), 1n);
  const rows = answers.map((one) => ({
    head: { text: marked(one.row) },
    cells: [one.refused ? { kind: "blank", text: "", say: one.refused }
      : { kind: "bar", role: "plain", bar: Number((one.size.bytes * 10_000n) / largest) / 10_000, text: binary(total(one)), say: `${one.row.name}: ${both(total(one))}`, counted: String(one.size.bytes) }],
  }));
  return { kind: "table", name: "memory", look: "bars", corner: "model", label: `Cache of ${asked}`, columns: [{ text: `cache of ${asked}` }], rows };
}

/** @param {Answer[]} answers @param {import("../memory/arithmetic.js").Question} question @param {State} state */
function sizes(answers, question, state) {
  const line = (/** @type {string} */ name, /** @type {(one: Answer) => Fraction|null} */ of, show = binary) =>
    ({ head: { text: name }, cells: answers.map((one) => bytesCell(one, name, one.refused ? null : of(one), show)) });
  const on = question.ranks > 1 ? "on each device" : "on one device";
  const rows = [
    line("each further token", (one) => one.token, inFull),
    line("… once windows are full", (one) => one.later, inFull),
    { ...line("one request", (one) => one.size.request), kind: question.batch === 1 ? "total" : undefined },
    ...(question.batch === 1 ? [] : [{ ...line(`all ${whole(question.batch)} requests`, total), kind: "total" }]),
    { head: { text: "parameters" }, cells: answers.map(parametersCell) },
    { head: { text: `weights in ${state.bits} bits` }, cells: answers.map((one) => weightsCell(one, `weights in ${state.bits} bits`)) },
    { head: { text: `left of ${whole(Number(state.device))} GiB` }, cells: answers.map((one) => leftCell(one, Number(state.device))) },
    { head: { text: "requests that fit, at most" }, cells: answers.map((one) => numberCell(one, "requests that fit", one.fit)), kind: "total" },
    { head: { text: "how the sizes are known" }, cells: answers.map(evidenceCell) },
  ];
  return { kind: "table", name: "sizes", look: "plain", corner: on, label: `What it takes and what fits, ${on}`, columns: answers.map((one) => ({ text: one.row.name, look: "exact" })), rows };
}

/** Rounded and exact; a line may break between the two only. @param {Fraction} size */
function inFull(size) {
  const [short, full] = [binary(size), exact(size)].map((text) => text.replace(" ", "\u00a0"));
  return short === full ? full : `${short} (${full})`;
}

/** @param {Answer} one @param {string} name @param {Fraction|null} size */
function bytesCell(one, name, size, show = binary) {
  if (size === null) return unknown(one, name);
  return { kind: "count", text: show(size), say: `${one.row.name}, ${name}: ${both(size)}`, counted: exact(size).replace(/,| B$/g, "") };
}

/** @param {Answer} one @param {string} name @param {bigint|null} number */
function numberCell(one, name, number) {
  return number === null ? unknown(one, name) : { kind: "count", text: whole(number), say: `${one.row.name}, ${name}: ${whole(number)}`, counted: String(number) };
}

/** Weights are as exact as the number of parameters. @param {Answer} one @param {string} name */
function weightsCell(one, name) {
  const cell = bytesCell(one, name, one.weights === null ? null : { n: one.weights, d: 1n });
  return rounded(one.row) && one.weights !== null ? { ...cell, text: `≈ ${cell.text}`, say: `${cell.say}, from a rounded number of parameters` } : cell;
}

/** @param {Answer} one @param {number} gib of the device */
function leftCell(one, gib) {
  const { weights, left } = one;
  if (weights === null || left === null) return unknown(one, "left by the weights");
  const [lacks, sign] = [weights - BigInt(gib) * 2n ** 30n, rounded(one.row) ? "≈ " : ""];
  if (lacks <= 0n) return { ...bytesCell(one, "left by the weights", { n: left, d: 1n }), text: sign + binary({ n: left, d: 1n }) };
  const size = { n: lacks, d: 1n };
  return { kind: "count", text: `${sign}${binary(size)} too\u00a0few`, say: `${one.row.name}: the weights alone need ${both(size)} more`, counted: "0" };
}

/** Does somebody only say about how many parameters there are? @param {Row} row */
function rounded(row) {
  return String(/** @type {any} */ (row.parameters).kind ?? "").startsWith("published");
}

/** @param {number} parameters of a model for which they are rounded */
function roughly(parameters) {
  return `about ${parameters >= 1e12 ? `${parameters / 1e12} trillion` : `${parameters / 1e9} billion`}`;
}

/** @param {Answer} one @param {string} name */
function unknown(one, name) {
  return { kind: "count", text: "–", say: one.refused ?? `${one.row.name}, ${name}: unknown, nobody says how many parameters` };
}

/** @param {Answer} one */
function parametersCell(one) {
  const { id, name, parameters } = one.row;
  if (parameters.total === null) return unknown(one, "parameters");
  const recorded = id === "own" ? {} : { file: TABLE, key: `models.${id}.parameters.total`, exact: String(parameters.total) };
  const text = rounded(one.row) ? roughly(parameters.total) : whole(parameters.total);
  return { kind: "count", text, say: `${name}, parameters${id === "own" ? `: ${whole(parameters.total)}` : ""}`, ...recorded };
}

/** @param {Answer} one */
function evidenceCell(one) {
  const { id, name, evidence } = one.row;
  if (id === "own") return { kind: "count", text: EVIDENCE.own[0], say: `${name}: pasted` };
  return { kind: "count", text: known(one.row), say: `${name}, evidence`, file: TABLE, key: `models.${id}.evidence`, exact: String(evidence) };
}

/** @param {Row} row */
function known({ id, evidence, verified, unverified_fields: open = [] }) {
  if (id === "own") return EVIDENCE.own[0];
  if (!verified) return EVIDENCE.secondary[0];
  return `${EVIDENCE[String(evidence)][0]}${open.length ? `, ${PARTLY[0]}` : ""}`;
}

/** What the words of that line mean, of those alone that stand in it. @param {Answer[]} answers */
function key(answers) {
  const shown = answers.map((one) => known(one.row));
  const used = [...Object.values(EVIDENCE), PARTLY].filter(([word]) => shown.some((text) => text === word || text.startsWith(`${word}, `) || text.endsWith(`, ${word}`)));
  return { kind: "note", text: `How the sizes are known – ${used.map(([word, meaning]) => `${word}: ${meaning}`).join("; ")}.` };
}

/** A window that slides need not begin where a block does. @param {Answer} one @param {import("../memory/arithmetic.js").Question} question */
function unaligned({ size }, { tokens, block }) {
  const slides = size.groups.some(({ group }) => group.window && !group.chunked && tokens > group.window);
  return block > 1 && slides ? ["a window may begin inside a block: counted are all blocks in which it lies after these tokens"] : [];
}

/** The formula with its numbers, the layers that count, and what to beware of. @param {Answer[]} answers @param {import("../memory/arithmetic.js").Question} question */
function explained(answers, question) {
  const note = (/** @type {string} */ text) => ({ kind: "note", text });
  const formulas = answers.map((one) => note(`${one.row.name}: ${one.refused ?? `${one.terms.join(" + ")} = ${both(one.size.request)}`}`));
  const kept = answers.map((one) => note(`${one.row.name}: ${layers(one.row).join("; ")}.`));
  const beware = answers.flatMap((one) => [
    ...[...warnings(one.row, question.tokens, question.ranks), ...unaligned(one, question)].map((text) => note(`${text.startsWith(one.row.name) ? "" : `${one.row.name}: `}${text}.`)),
    ...(one.row.unverified_fields?.length ? [note(`${one.row.name}, not verified: ${one.row.unverified_fields.join("; ")}.`)] : []),
  ]);
  return [{ kind: "title", text: "One request" }, ...formulas, { kind: "title", text: "Which layers count" }, ...kept,
    ...(beware.length ? [{ kind: "title", text: "Beware" }, ...beware] : [])];
}
