// @ts-check
// Records of this site, each fetched once. Addresses are taken from this module's own, so they hold on every page.

const ROOT = new URL("../../", import.meta.url);
export const GEOMETRY = "geometry/models"; // the one table that no run makes
/** @type {Map<string, Promise<any>>} */
const kept = new Map();

/** The address of a record's file, or of a figure's description. @param {string} path */
export function address(path) {
  const file = path.startsWith("figure:") ? `assets/figures/${path.slice(7)}.plotly.json` : path === GEOMETRY ? `data/${path}.json` : `data/recomputed/${path}.json`;
  return new URL(file, ROOT).href;
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
