// What stands round a figure follows its state, and what is said of a recorded value is true of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { about, anchor, citation } from "../../docs/assets/js/around.js";
import * as memory from "../../docs/assets/js/pictures/memory.js";
import * as roofline from "../../docs/assets/js/pictures/roofline.js";
import { fileName, precision } from "../../docs/assets/js/records.js";
import { validate } from "../../docs/assets/js/state.js";

const context = { figure: "row", recordings: [{ id: "m/cat", model: "m", label: "“the cat sat”" }, { id: "m/chat", model: "m", label: "“Hello”" }] };
const own = { recording: "m/cat", layer: 2, step: 12 };

const steps = { name: "step", label: "Step", kind: "range", value: 12, min: 0, max: 12 };
const layers = { name: "layer", label: "Layer", kind: "choice", told: false, value: 2, options: [{ value: 2, text: "2" }, { value: 7, text: "7" }] };
const picture = { fields: () => [steps, layers] };

test("a caption's sentence says of which state it is true", () => {
  assert.equal(about(picture, own, own, context), "");
  assert.equal(about(picture, own, { ...own, layer: 7 }, context), "");
  assert.equal(about(picture, own, { ...own, step: 1 }, context), "This sentence is about decode step 12.");
  assert.equal(about(picture, { ...own, step: 0 }, own, context), "This sentence is about the prefill.");
  assert.equal(about({ ...picture, bySteps: false }, own, { ...own, step: 1 }, context), "");
  assert.equal(about(picture, own, { ...own, recording: "m/chat", step: 1 }, context), "This sentence is about “the cat sat”.");
});

test("of every field that its sentence depends on, and of no other", () => {
  const models = [{ id: "a", name: "Model A", contexts: [64, 4096] }, { id: "b", name: "Model B", contexts: [64, 4096] }];
  const bound = { figure: "roofline", options: {}, state: { context: 4096 }, recordings: context.recordings, grid: { models, devices: [{ id: "x", name: "Device X" }, { id: "y", name: "Device Y" }], batches: [1, 64] } };
  const first = validate(roofline, bound);
  assert.equal(about(roofline, first, { ...first, model: "b" }, bound), "This sentence is about model Model A.");
  assert.equal(about(roofline, first, { ...first, device: "y", context: 64, batch: 64 }, bound), "This sentence is about device Device X, context 4,096, batch 1.");
  const table = { figure: "memory", options: {}, state: {}, recordings: [], models: models.map(({ id, name }) => ({ id, name })) };
  const sizes = validate(memory, table);
  assert.equal(about(memory, sizes, { ...sizes, third: "b", device: 24, bits: 4 }, table), "");
  assert.equal(about(memory, sizes, { ...sizes, tokens: 8192, dtype: "int8", block: 16, ranks: 2 }, table), "This sentence is about tokens 4,096, cache in fp16, no block, tensor parallel 1 device.");
});

test("a citation names the state, and leads to it where there is an address", () => {
  const entry = "@misc{kvref-fig-row,\n  url  = {https://example.org/a/#fig-row},\n  note = {Data SHA-256 0123. CC BY 4.0},\n}\n";
  assert.equal(citation(entry, "row", "?row=layer:7", { layer: 7, recording: "m/a_b" }),
    "@misc{kvref-fig-row,\n  url  = {https://example.org/a/?row=layer:7#fig-row},\n  note = {Data SHA-256 0123. CC BY 4.0. State: layer 7, recording m/a\\_b},\n}\n");
  const nested = "  howpublished = {\\url{https://example.org/#fig-row}},\n  note         = {Built \\emph{here}.},\n";
  assert.equal(citation(nested, "row", "?x", { step: 1 }), "  howpublished = {\\url{https://example.org/?x#fig-row}},\n  note         = {Built \\emph{here}. State: step 1},\n");
});

test("a record's place in the catalogue, its file, and how far its values can be trusted", () => {
  assert.equal(anchor("m/cat/kv-07", context), "record-cat-kv-07");
  assert.equal(anchor("other/cat", context), "record-other-cat");
  assert.equal(fileName("m/cat/kv-07"), "data/recomputed/m/cat/kv-07.json");
  assert.equal(fileName("geometry/models"), "data/geometry/models.json");
  assert.equal(precision({ key: "total", exact: "691200" }, 2e-4), "exact");
  assert.equal(precision({ key: "weights.0", exact: "0.3665" }, 2e-4), "4 significant digits, tolerance ±2 × 10⁻⁴");
  assert.equal(precision({ key: "weights.0", exact: "-1.2e-07" }, 2e-4), "4 significant digits, tolerance ±2 × 10⁻⁴");
  assert.equal(precision({ key: "causal_change_bound", exact: "5e-05" }, 2e-4), "a bound that every run must keep");
  assert.equal(precision({ key: "text", exact: " cat" }, 2e-4), "");
});
