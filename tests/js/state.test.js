import assert from "node:assert/strict";
import { test } from "node:test";
import * as cells from "../../docs/assets/js/pictures/cells.js";
import { format, parse, texts, validate, withState } from "../../docs/assets/js/state.js";

const recording = { model: "m", query_heads: 6, kv_heads: 2, group_size: 3, steps: 4, tokens: 6, prompt_tokens: 3 };
const context = {
  figure: "row", options: { mode: "decode" }, state: {},
  recordings: [
    { ...recording, id: "m/cat", prompt: "cat", label: "cat", layers: [0, 1, 2, 3], chosen: [{ layer: 2, head: 4 }] },
    { ...recording, id: "m/chat", prompt: "chat", label: "chat", layers: [1, 3], chosen: [{ layer: 3, head: 0 }], steps: 9 },
  ],
};
const usual = { recording: "m/cat", layer: 2, head: 4, step: 3, dims: "first" };

test("without a state the default is the chosen head and the last step", () => {
  assert.deepEqual(validate(cells, context), usual);
});

test("a state survives the address", () => {
  const state = { recording: "m/chat", layer: 1, head: 5, step: 8, dims: "largest" };
  const search = withState("?other=a:1&row=layer:0", "row", state);
  assert.equal(search, "?other=a:1&row=recording:m/chat,layer:1,head:5,step:8,dims:largest");
  assert.deepEqual(validate(cells, context, parse(search, "row")), state);
  assert.deepEqual(validate(cells, context, texts(state)), state);
  assert.equal(format(state), search.split("row=")[1]);
});

test("what does not exist is ignored, what exists beside it is kept", () => {
  const forged = ["layer:99", "layer:-1", "layer:1e1", "layer:01", "step:0", "step:4", "step:1.5", "step:٣", "dims:<b>", "recording:../x", "__proto__:1",
    "constructor:1", ":", ",,", "layer", "a:b:c", `step:${"9".repeat(400)}`, "head:NaN"];
  for (const text of forged) assert.deepEqual(validate(cells, context, parse(`?row=${text}`, "row")), usual, text);
  assert.equal(validate(cells, context, parse("?row=layer:99,step:1", "row")).step, 1);
  assert.equal(validate(cells, context, parse("?row=step:last", "row")).step, 3);
  assert.deepEqual(validate(cells, context, parse("?row=%E0%A4%A", "row")), usual);
});

test("a layer that the other recording lacks falls back to that recording's own head", () => {
  const state = validate(cells, context, new Map([["recording", "m/chat"], ["layer", "2"]]));
  assert.deepEqual(state, { recording: "m/chat", layer: 3, head: 0, step: 8, dims: "first" });
});
