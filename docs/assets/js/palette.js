// @ts-check
// The light colours, for pictures that leave the page as a file. The page itself takes both schemes from tokens.css;
// a test holds the two equal.

export const LIGHT = {
  paper: "#ffffff", ink: "#1b1f24", muted: "#57606a", line: "#848d97", hair: "#d5dae0", soft: "#f3f5f7",
  query: "#0b5cad", key: "#9a5800", value: "#00705c", weight: "#6f3fb0", new: "#c0165c", negative: "#5a6472", again: "#7d8590", plain: "#46505c", shared: "#00658a", copied: "#8a4600",
};

/** One hue a request; its letter always stands with it. */
export const HUES = ["#3a55c4", "#8a5d00", "#1d7442", "#9a3f8f", "#a5402a", "#4a6a78"];

export const TINT = 0.5; // how much of a role's colour the deepest tint of a number's cell holds

/** A role's colour thinned onto paper. @param {string} colour "#rrggbb" @param {number} share 0 to 1 */
export function mix(colour, share) {
  const part = (/** @type {number} */ at) => {
    const channel = Number.parseInt(colour.slice(at, at + 2), 16);
    return Math.round(255 + (channel - 255) * share).toString(16).padStart(2, "0");
  };
  return `#${part(1)}${part(3)}${part(5)}`;
}
