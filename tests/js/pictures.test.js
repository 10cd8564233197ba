// Every figure of the built site: drawn again from the records, in its own state and in others.

import assert from "node:assert/strict";
import { test } from "node:test";
import { controls } from "../../docs/assets/js/controls.js";
import { cells, csv, draw, element, entries, html, svg } from "../../docs/assets/js/picture.js";
import { parse, format, validate } from "../../docs/assets/js/state.js";
import { figures, record, records } from "./site.js";

const all = await figures();

/** The values of a field worth trying: both ends and the middle. */
function tried(field) {
  if (field.kind === "text") return [field.value];
  const values = field.kind === "range" ? [field.min, Math.floor((field.min + field.max) / 2), field.max] : field.options.map((option) => option.value);
  return values.length <= 3 ? values : [values[0], values[values.length >> 1], values.at(-1)];
}

function* states(figure) {
  const { picture, context } = figure;
  const first = validate(picture, context);
  yield first;
  for (const field of picture.fields(first, context)) {
    for (const value of tried(field)) yield validate(picture, context, parse(`?x=${format({ ...first, [field.name]: value })}`, "x"));
  }
}

function drawn({ picture, context }, state) {
  return draw(picture, state, records(picture.needs(state, context)), context);
}

test("there are figures to test", () => assert.ok(all.length >= 18));

for (const figure of all) {
  const { id, picture, context } = figure;

  test(`${id}: the first live frame is the static one`, () => {
    const state = validate(picture, context);
    const model = drawn(figure, state);
    assert.ok(figure.html.includes(`<div class="kv-frame">${html(model)}</div>`));
    const fields = picture.fields(state, context).map((field) => ({ ...field, value: state[field.name] }));
    assert.ok(figure.html.includes(controls(fields)));
    const [tag] = figure.html.slice(1).split(" ");
    const label = figure.html.match(/ aria-label="([^"]*)"/)[1];
    assert.equal(element({ tag, picture: figure.html.match(/ picture="([^"]*)"/)[1], label: "", context }, fields, model),
      figure.html.replace(` aria-label="${label}"`, ' aria-label=""'));
  });

  test(`${id}: every cell that shows a number names the key that holds it`, () => {
    let seen = 0;
    for (const state of states(figure)) {
      for (const cell of cells(drawn(figure, state))) {
        assert.ok(cell.say, "a cell must have something to say");
        if (cell.exact === undefined) continue;
        const held = cell.key.split(".").reduce((values, name) => values[name], record(cell.file));
        assert.equal(String(held), cell.exact, `${cell.file} › ${cell.key}`);
        seen += 1;
      }
    }
    assert.ok(seen > 0 || html(drawn(figure, validate(picture, context))).includes("kv-drawing"));
  });

  test(`${id}: as many cells in the HTML as in the model, nothing undefined, one tab stop a grid`, () => {
    for (const state of states(figure)) {
      const model = drawn(figure, state);
      const written = html(model);
      assert.equal(written.match(/class="c k-/g)?.length ?? 0, cells(model).length);
      assert.doesNotMatch(written + model.summary, /undefined|NaN|Infinity|\[object/);
      assert.equal(written.match(/role="grid"/g)?.length ?? 0, written.match(/role="grid"[^>]* tabindex="0"/g)?.length ?? 0);
      assert.doesNotMatch(written, / style=| on\w+=|<script/);
    }
  });

  test(`${id}: SVG and CSV stand alone`, () => {
    const model = drawn(figure, validate(picture, context));
    const drawing = svg(model, { title: "a < b", alt: "c & d" });
    assert.match(drawing, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    assert.match(drawing, /<title>a &lt; b<\/title><desc>c &amp; d<\/desc>/);
    assert.doesNotMatch(drawing, /undefined|NaN|var\(|href=|class="(hair|axis)"[^>]*fill="#/);
    assert.equal(drawing, svg(drawn(figure, validate(picture, context)), { title: "a < b", alt: "c & d" }));
    const lines = csv(model).trim().split("\n");
    assert.equal(lines[0], "part,row,column,text,value,record,key");
    assert.ok(lines.length > 3);
    assert.doesNotMatch(lines.join("\n"), /undefined|NaN/);
    const listed = entries(model);
    assert.equal(listed.length, lines.length - 1, "JSON has the same rows");
    assert.deepEqual(Object.keys(listed[0]), lines[0].split(","));
    assert.ok(listed.some((entry) => typeof entry.value === "number"));
  });
}

test("a grid keeps its size from step to step, so that nothing below it moves", () => {
  for (const figure of all) {
    const { picture, context } = figure;
    const field = picture.fields(validate(picture, context), context).find((one) => one.name === "step");
    if (!field) continue;
    const counts = tried(field).map((step) => html(drawn(figure, validate(picture, context, new Map([["step", String(step)]])))).match(/<tr|class="block|<li>/g).length);
    assert.equal(new Set(counts).size, 1, figure.id);
  }
});

test("Plotly gets the chosen layer's numbers, and its panels the chosen recording's size", () => {
  const figure = all.find((one) => one.id === "all-heads");
  const spec = record("figure:all-heads");
  for (const state of states(figure)) {
    const needed = records(figure.picture.needs(state, figure.context));
    const { data, layout } = figure.picture.plotly(spec, state, needed, figure.context);
    const weights = needed[`${state.recording}/attention-${String(state.layer).padStart(2, "0")}`].weights;
    assert.equal(data.length, weights[0].length);
    assert.equal(data[1].z[2][1], weights[2][1][1]);
    assert.equal(data[0].z[0].at(-1), weights.length > 1 ? null : weights[0][0][0]);
    assert.deepEqual(layout.xaxis.range, [-0.5, weights.length - 0.5]);
  }
});
