// The figures as drawn into build/site/figures, read back for the tests that need real numbers.

import { readFileSync, readdirSync } from "node:fs";
import { GEOMETRY, isMeasured } from "../../docs/assets/js/records.js";

export const ROOT = new URL("../../", import.meta.url);
export const JS = new URL("docs/assets/js/", ROOT);
const FIGURES = new URL("build/site/figures/", ROOT);
const kept = new Map();

/** @param {string} path of a record or of a figure's description */
export function record(path) {
  if (!kept.has(path)) {
    const figure = path.startsWith("figure:");
    const file = path.startsWith("own/") ? new URL(`build/measured/${path.slice(4)}.json`, ROOT) : path === GEOMETRY || isMeasured(path) ? new URL(`docs/data/${path}.json`, ROOT) : figure ? new URL(`${path.slice(7)}.plotly.json`, FIGURES) : new URL(`docs/data/recomputed/${path}.json`, ROOT);
    const found = JSON.parse(readFileSync(file, "utf8"));
    kept.set(path, figure ? found : found.values);
  }
  return kept.get(path);
}

/** @param {string[]} paths */
export function records(paths) {
  return Object.fromEntries(paths.map((path) => [path, record(path)]));
}

/** Every drawn figure: its element's HTML, its context, and the module that draws it. */
export async function figures() {
  const names = readdirSync(FIGURES).filter((name) => name.endsWith(".html"));
  return Promise.all(names.map(async (name) => {
    const html = readFileSync(new URL(name, FIGURES), "utf8");
    const of = (attribute) => html.match(new RegExp(` ${attribute}="([^"]*)"`))[1];
    const context = JSON.parse(of("context").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"));
    return { id: name.slice(0, -5), html, context, picture: await import(new URL(`pictures/${of("picture")}.js`, JS)) };
  }));
}
