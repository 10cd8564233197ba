// @ts-check
// Numbers and texts as a reader sees them. Knows nothing about records, pictures or the page.

const MINUS = "\u2212";
const NO_BREAK = "\u00a0"; // between a number and its unit, as in the captions
const NARROW = "\u202f"; // a space that neither breaks nor stands wide
const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const BINARY = /** @type {[string, number][]} */ ([["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]);

/** A whole number with separators, as in 46,080. @param {number} n */
export function whole(n) {
  const digits = String(Math.abs(Math.round(n))).replace(/\B(?=(\d{3})+$)/g, ",");
  return n < 0 ? MINUS + digits : digits;
}

/** A number's decimals moved by some places, as they are written: 0.3665 by 2 is 36.65, where a product would be off.
 *  @param {number} x @param {number} places */
function moved(x, places) {
  const [digits, exponent] = String(x).split("e");
  return Number(`${digits}e${Number(exponent ?? 0) + places}`);
}

/** A number with a fixed count of decimals and a real minus sign. Halves go up, as they are written: what is recorded
 *  as 0.125 is 0.13 here and in the captions. @param {number} x @param {number} [decimals] */
export function fixed(x, decimals = 2) {
  const text = moved(Math.round(moved(Math.abs(x), decimals)), -decimals).toFixed(decimals);
  const [head, tail] = text.split(".");
  const joined = whole(Number(head)) + (tail === undefined ? "" : `.${tail}`);
  return x < 0 && Number(text) !== 0 ? MINUS + joined : joined;
}

/** At most `digits` significant digits, no exponent, no trailing zeros. @param {number} x @param {number} [digits] */
export function significant(x, digits = 3) {
  if (x === 0) return "0";
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(x))));
  const text = fixed(x, Math.min(decimals, 12));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** As in 3.15 × 10¹¹; small whole numbers stay as they are. @param {number} x @param {number} [digits] */
export function scientific(x, digits = 3) {
  if (x === 0 || (Number.isInteger(x) && Math.abs(x) < 1e6)) return whole(x);
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
  return `${fixed(Number(mantissa), digits - 1)} × 10${power(Number(exponent))}`;
}

/** An exponent in superscript digits. @param {number} exponent */
export function power(exponent) {
  const digits = String(Math.abs(exponent)).replace(/\d/g, (d) => SUPERSCRIPT[Number(d)]);
  return (exponent < 0 ? "⁻" : "") + digits;
}

/** Bytes in the largest binary unit that leaves at least 1. @param {number} bytes */
export function bytes(bytes) {
  for (const [unit, size] of BINARY) if (bytes >= size) return `${significant(bytes / size, 4)}${NO_BREAK}${unit}`;
  return `${whole(bytes)}${NO_BREAK}B`;
}

/** A share as a percentage; anything above zero stays visibly above zero. @param {number} share */
export function percent(share) {
  if (share > 0 && share < 0.0005) return `<${NARROW}0.1${NARROW}%`;
  return `${fixed(moved(share, 2), share > 0.9995 ? 0 : 1)}${NARROW}%`;
}

/** A token's text on one line: the spaces and line breaks that belong to it are made visible.
 *  @param {string} text @param {boolean} [bare] leave out the leading space, where room is short */
export function token(text, bare = false) {
  const seen = text.replace(/\n/g, "↵").replace(/\t/g, "⇥");
  if (bare && seen.trim() !== "") return seen.trim();
  return seen.replace(/ /g, "␣");
}

/** A token's text as it is spoken. @param {string} text */
export function spoken(text) {
  const named = text.replace(/\n/g, " line break ").trim();
  return named === "" ? "space" : `“${named}”`;
}

/** Text that is safe between tags and in quoted attributes. @param {unknown} text */
export function escape(text) {
  const names = /** @type {Record<string, string>} */ ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" });
  return String(text).replace(/[&<>"']/g, (sign) => names[sign]);
}
