// @ts-check
// The box into which a reader pastes a config.json: what was read of it, or the one sentence why not. A geometry goes
// into the figure's state, so the link brings it back; the text itself goes nowhere.

import { Refused } from "./arithmetic.js";
import { fromText } from "./config.js";
import { pack } from "./own.js";
import { layers } from "./words.js";

/** @typedef {{state?: import("../state.js").State|null, choose: (changed: Map<string, string>) => void}} Figure */

const TYPED_MS = 250; // after the last key, so that half a file is not judged

/** @param {HTMLElement & Figure} figure */
export function adopt(figure) {
  const box = figure.querySelector(".kv-paste textarea");
  const status = figure.querySelector(".kv-paste [role=status]");
  if (!(box instanceof HTMLTextAreaElement) || !status) return;
  let timer = 0;
  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => (status.textContent = judge(box.value.trim(), figure)), TYPED_MS);
  });
}

/** @param {string} text @param {Figure} figure @returns {string} */
function judge(text, figure) {
  if (text === "") return "";
  try {
    const geometry = fromText(text);
    figure.choose(new Map([["own", pack(geometry)], ["model", "own"]]));
    return `Read: ${layers(geometry).join("; ")}.`;
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    return figure.state?.own ? `${problem.message} Below still stands the config pasted before.` : problem.message;
  }
}
