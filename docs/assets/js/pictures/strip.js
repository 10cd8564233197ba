// @ts-check
// THE STRIP: the recording as the model sees it, tokens left to right with position, text and number.

import { recordingField, recordingOf, strip } from "./common.js";

/** @param {import("../state.js").State} state @param {import("./common.js").Context} context */
export function fields(state, context) {
  return [recordingField(state, context)];
}

/** @param {import("../state.js").State} state @param {import("./common.js").Context} context */
export function needs(state, context) {
  return [recordingOf(state, context).id];
}

/** @param {import("../state.js").State} state @param {import("./common.js").Records} records
 *  @param {import("./common.js").Context} context */
export function draw(state, records, context) {
  const { id } = recordingOf(state, context);
  const index = records[id];
  const replied = index.tokens.filter((/** @type {any} */ one) => one.role === "reply").length;
  return {
    summary: `${index.prompt_tokens} tokens of prompt, then ${replied} of reply.`,
    parts: [
      strip(records, id, undefined, true),
      { kind: "legend", items: [{ swatch: "prompt", text: "prompt" }, { swatch: "reply", text: "reply" },
        { text: "above: position · below: the token’s number · ␣ a space, ↵ a line break" }] },
    ],
  };
}
