// @ts-check
// Boxes and texts of an SVG that stands alone. Widths of texts are counted, not measured.

import { escape } from "../format.js";

export const MONO = 7.3; // width of a character at 12 px
export const SANS = 6.4;

/** @param {number} x @param {number} y @param {string} words
 *  @param {{anchor?: string, mono?: boolean, muted?: boolean, weight?: number, size?: number, fill?: string}} [how] */
export function text(x, y, words, how = {}) {
  if (!words) return "";
  const names = [how.mono && "mono", how.muted && "muted"].filter(Boolean).join(" ");
  const style = (how.weight ? `font-weight:${how.weight};` : "") + (how.size ? `font-size:${how.size}px;` : "") + (how.fill ? `fill:${how.fill}` : "");
  return `<text x="${round(x)}" y="${round(y)}"${how.anchor ? ` text-anchor="${how.anchor}"` : ""}${names ? ` class="${names}"` : ""}${style ? ` style="${style}"` : ""}>${escape(words)}</text>`;
}

/** @param {number} x @param {number} y @param {number} w @param {number} h @param {string} fill @param {string} [stroke] @param {number} [width] @param {boolean} [dashed] */
export function box(x, y, w, h, fill, stroke = "none", width = 1, dashed = false) {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" fill="${fill}"${stroke === "none" ? "" : ` stroke="${stroke}" stroke-width="${width}"${dashed ? ' stroke-dasharray="3 2"' : ""}`}/>`;
}

/** @param {number} n */
export function round(n) {
  return Math.round(n * 100) / 100;
}

/** @param {string} words @param {number} width @param {number} letter @returns {string[]} */
export function wrap(words, width, letter) {
  const lines = [""];
  for (const word of words.split(" ")) {
    const last = lines.length - 1;
    if ((lines[last].length + word.length + 1) * letter > width && lines[last]) lines.push(word);
    else lines[last] += (lines[last] ? " " : "") + word;
  }
  return lines;
}

/** @param {string} words @param {number} width */
export function short(words, width) {
  const room = Math.max(2, Math.floor(width / 6.4));
  return words.length > room ? `${words.slice(0, room - 1)}…` : words;
}
