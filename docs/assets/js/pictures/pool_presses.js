// @ts-check
// What can be pressed at the pool: each button has the list of actions that it leads to, and one that leads nowhere says why.

import { codes, foresee, isShort, possible, waits } from "../blocks/actions.js";
import { count, refusal } from "../blocks/words.js";

/** @typedef {import("./pool_parts.js").Scene} Scene */
/** @typedef {import("../blocks/actions.js").Sequence} Sequence */

/** @param {Scene} scene @param {string} code @param {string} text @param {string} say */
function press({ world, sources, all }, code, text, say) {
  const step = foresee(world, code, sources);
  const value = [...all, code].join(".");
  const off = !possible(step) ? refusal(step) : isShort(value) ? "" : "That is as much as a link can hold: undo, or reset.";
  return { text, say, value, key: code, off, missing: step.missing?.needed };
}

/** @param {Scene} scene */
export function presses(scene) {
  const { all, names, script, sources, world } = scene;
  const add = names.filter((name) => sources.has(name)).map((name) => press(scene, `n${name}`, `Add ${sources.get(name)?.label}`, `Add ${sources.get(name)?.label}`));
  const next = codes(script)[all.length];
  const follows = next !== undefined && codes(script).slice(0, all.length).join(".") === all.join(".");
  const back = [
    { text: "◀ Undo", say: "Undo the last action", key: "undo", value: all.slice(0, -1).join("."), off: all.length ? "" : "Nothing to undo." },
    { text: "Redo ▶", say: "Redo the example’s next action", key: "redo", value: follows ? [...all, next].join(".") : "", off: follows ? "" : "The example goes no further." },
    { text: "Reset", say: "Reset to the example", key: "reset", value: script, off: all.join(".") === script ? "This is the example." : "" },
  ];
  if ([...world.live.values()].some((one) => waits(world, one))) back.unshift(press(scene, "k", "Compute", "Compute what waits, in one step"));
  return { kind: "presses", label: "Requests and steps", groups: [add, back], note: crowded(scene, add) };
}

/** Which prompts find no room, in one sentence. @param {Scene} scene @param {any[]} add */
function crowded({ world }, add) {
  const without = add.filter((one) => one.missing);
  const more = [...new Set(add.filter((one) => one.off && !one.missing).map((one) => one.off))];
  if (without.length) more.unshift(`No room for ${without.map((one) => `${one.text.slice(4)} (${count(one.missing, "block")})`).join(", ")}: ${world.manager.availableBlocks} free or idle.`);
  return more.join(" ");
}

/** @param {Scene} scene @param {Sequence} one */
export function pressesOf(scene, { letter }) {
  return [
    press(scene, `d${letter}`, "Decode", `Decode a token of ${letter}`),
    press(scene, `w${letter}`, "Write other", `Write other: ${letter} takes the token that was second best`),
    press(scene, `f${letter}`, "Fork", `Fork ${letter}`),
    press(scene, `s${letter}`, "Share", `Share: the prompt of ${letter} once more`),
    press(scene, `e${letter}`, "Finish", `Finish ${letter}`),
  ];
}
