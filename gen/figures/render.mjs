// @ts-check
// Draws figures at build: jobs as JSON on stdin, drawn figures as JSON on stdout. The drawing itself is the code that
// the browser runs; this only reads the records from disk where the browser would fetch them.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const PICTURES = new URL("../../docs/assets/js/", import.meta.url);
const { csv, draw, element, entries, svg } = await import(new URL("picture.js", PICTURES).href);
const { validate } = await import(new URL("state.js", PICTURES).href);
const job = JSON.parse(readFileSync(0, "utf8"));
const { GEOMETRY } = await import(new URL("records.js", PICTURES).href);
const TABLES = new URL("../../docs/data/", import.meta.url); // what no run makes: the same for every site
const kept = new Map();

/** @param {string} path @returns {any} */
function record(path) {
  const file = path === GEOMETRY ? new URL(`${path}.json`, TABLES) : job.measured[path] ?? join(job.data_root, `${path}.json`);
  if (!kept.has(path)) kept.set(path, JSON.parse(readFileSync(file, "utf8")).values);
  return kept.get(path);
}

/** @param {any} figure */
async function drawn(figure) {
  const picture = await import(new URL(`pictures/${figure.picture}.js`, PICTURES).href);
  const { context } = figure;
  const state = validate(picture, context);
  const needs = /** @type {string[]} */ (picture.needs(state, context));
  const records = Object.fromEntries(needs.map((path) => [path, path.startsWith("figure:") ? figure.plotly : record(path)]));
  const model = draw(picture, state, records, context);
  const fields = picture.fields(state, context).map((/** @type {any} */ field) => ({ ...field, value: state[field.name] }));
  return {
    html: element(figure, fields, model), svg: svg(model, { ...figure.texts, alt: `${model.summary} ${figure.texts.alt}` }), csv: csv(model), cells: entries(model), state,
    records: [...needs.filter((path) => !path.startsWith("figure:")), ...(figure.reads ?? [])],
  };
}

/** @type {Record<string, any>} */
const done = {};
for (const figure of job.jobs) {
  try {
    done[figure.id] = await drawn(figure);
  } catch (problem) {
    throw new Error(`figure ${figure.id}: ${problem instanceof Error ? problem.message : problem}`, { cause: problem });
  }
}
process.stdout.write(JSON.stringify(done));
