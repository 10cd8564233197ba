// @ts-check
// Records of this site, each fetched once. Addresses are taken from this module's own, so they hold on every page.

import { scientific } from "./format.js";

const ROOT = new URL("../../", import.meta.url);
export const GEOMETRY = "geometry/models"; // the one table that no run makes
/** @type {Map<string, Promise<any>>} */
const kept = new Map();

/** Whether a record holds what was measured on a device: ours, or the reader's own. @param {string} path */
export function isMeasured(path) {
  return path.startsWith("measured/") || path.startsWith("own/");
}

/** Where a record, or a figure's description, lies in the site; what a reader sees of it too. @param {string} path */
export function fileName(path) {
  if (path.startsWith("figure:")) return `assets/figures/${path.slice(7)}.plotly.json`;
  return path === GEOMETRY || isMeasured(path) ? `data/${path}.json` : `data/recomputed/${path}.json`;
}

/** The address of a record's file, or of a figure's description. @param {string} path */
export function address(path) {
  return new URL(fileName(path), ROOT).href;
}

/** How far a recorded value can be trusted: whole numbers are counted, others were rounded when they were written down.
 *  @param {{key: string, exact: string}} value @param {number} [tolerance] of the file that holds it */
export function precision({ key, exact }, tolerance) {
  if (key.endsWith("_bound")) return "a bound that every run must keep";
  if (/^-?\d+$/.test(exact)) return "exact";
  if (!/^-?\d*\.?\d+(e[+-]?\d+)?$/.test(exact)) return "";
  return tolerance === undefined ? "4 significant digits, measured once" : `4 significant digits, tolerance ±${scientific(tolerance, 1)}`;
}

/** A whole file: environment, identity and values. A failed fetch is forgotten, so that it can be tried again.
 *  @param {string} path @returns {Promise<any>} */
export function file(path) {
  let found = kept.get(path);
  if (!found) {
    found = fetch(address(path)).then((answer) => {
      if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
      return answer.json();
    });
    found.catch(() => kept.delete(path));
    kept.set(path, found);
  }
  return found;
}

/** The values of several records by path. @param {string[]} paths @returns {Promise<Record<string, any>>} */
export async function load(paths) {
  const files = await Promise.all(paths.map(file));
  return Object.fromEntries(paths.map((path, i) => [path, path.startsWith("figure:") ? files[i] : files[i].values]));
}
