// What stands round a figure follows its state, and what is said of a recorded value is true of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { about, anchor, citation } from "../../docs/assets/js/around.js";
import { fileName, precision } from "../../docs/assets/js/records.js";

const context = { figure: "row", recordings: [{ id: "m/cat", model: "m", label: "“the cat sat”" }, { id: "m/chat", model: "m", label: "“Hello”" }] };
const own = { recording: "m/cat", layer: 2, step: 12 };

test("a caption's sentence says of which state it is true", () => {
  assert.equal(about(own, own, context, true), "");
  assert.equal(about(own, { ...own, layer: 7 }, context, true), "");
  assert.equal(about(own, { ...own, step: 1 }, context, true), "This sentence is about decode step 12.");
  assert.equal(about({ ...own, step: 0 }, own, context, true), "This sentence is about the prefill.");
  assert.equal(about(own, { ...own, step: 1 }, context, false), "");
  assert.equal(about(own, { ...own, recording: "m/chat", step: 1 }, context, false), "This sentence is about “the cat sat”.");
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
