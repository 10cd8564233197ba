// @ts-check
// THE STRIP: the recording as the model sees it, tokens left to right with position, text and number.

import { recordingField, recordingOf, replyTokens, strip } from "./common.js";

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
  return {
    summary: `${index.prompt_tokens} tokens of prompt, then ${replyTokens(index)} of reply.`,
    parts: [
      strip(records, id, undefined, true),
      { kind: "legend", items: [{ swatch: "prompt", text: "prompt" }, { swatch: "reply", text: "reply" },
        ...(index.final ? [{ swatch: "final", text: index.final.stop ? "ends the reply, not fed: never in the cache" : "written, not fed: never in the cache" }] : []),
        { text: "above: position · below: the token’s number · ␣ a space, ↵ a line break" }] },
    ],
  };
}
