// The pool that the reader drives, against Python's answers to the same operations.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { KVManager } from "../../docs/assets/js/blocks/manager.js";
import { Mistake, OutOfBlocks } from "../../docs/assets/js/blocks/pool.js";
import { chainHash } from "../../docs/assets/js/blocks/prefix.js";
import { sha256 } from "../../docs/assets/js/blocks/sha256.js";
import { ROOT } from "./site.js";

/** The vectors, as Python makes them now. */
function vectors() {
  const folder = mkdtempSync(join(tmpdir(), "kvref-blocks-"));
  try {
    const [root, file] = [fileURLToPath(ROOT), join(folder, "vectors.json")];
    const PATH = `${join(root, ".venv", "bin")}${delimiter}${process.env.PATH}`;
    execFileSync("python", ["tests/js/blocks_vectors.py", file], { cwd: root, env: { ...process.env, PATH } });
    return JSON.parse(readFileSync(file, "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const episodes = vectors();

/** @param {KVManager} manager */
function answer(manager, [kind, name, ...rest]) {
  try {
    if (kind === "ask") return [manager.cachedPrefix(...rest), manager.blocksNeeded(name, rest[0].length), rest[0].length ? manager.blocksToAdmit(...rest) : 0];
    return manager[kind](name, ...rest) ?? null;
  } catch (problem) {
    if (problem instanceof Mistake) return "mistake";
    if (!(problem instanceof OutOfBlocks)) throw problem;
    return { needed: problem.neededBlocks, available: problem.availableBlocks };
  }
}

/** @param {KVManager} manager */
function state(manager) {
  const { pool, index } = manager;
  const all = Array.from({ length: pool.totalBlocks }, (_, block) => block);
  return {
    free: pool.freeOrder(), idle: index.idleOrder(), counts: [pool.freeBlocks, pool.idleBlocks, pool.usedBlocks, pool.reservedBlocks],
    refs: all.map((block) => pool.refCount(block)), found: all.filter((block) => index.holds(block)),
    tables: manager.requests.map((name) => [name, manager.table(name), manager.length(name), manager.confirmed(name)]),
  };
}

function manager({ blocks, block_tokens, design, prefix_caching, reserve_null, constant_hash }) {
  return new KVManager(blocks, block_tokens, { design, prefixCaching: prefix_caching, reserveNull: reserve_null, hash: constant_hash ? () => 7 : chainHash });
}

test("ten thousand operations and more, in both designs, leave the events and the state that Python's leave", () => {
  const count = { "full-blocks": 0, "copy-on-write": 0 };
  for (const [number, { settings, steps }] of episodes.entries()) {
    const ours = manager(settings);
    for (const [at, step] of steps.entries()) {
      const before = ours.log.length;
      const got = { do: step.do, answer: answer(ours, step.do), events: ours.log.slice(before), state: state(ours) };
      assert.deepEqual(got, step, `episode ${number}, step ${at}`);
      count[settings.design] += 1;
    }
  }
  assert.ok(Math.min(...Object.values(count)) >= 5000 && count["full-blocks"] + count["copy-on-write"] >= 10_000);
});

test("the operations meet everything that can happen", () => {
  const steps = episodes.flatMap((one) => one.steps);
  const events = new Set(steps.flatMap((step) => step.events.map((event) => event.event)));
  for (const name of ["admitted", "hit", "evicted", "allocated", "shared", "copied", "appended", "confirmed", "indexed", "unindexed", "released", "forked", "truncated", "freed"]) assert.ok(events.has(name), name);
  const full = steps.filter((step) => step.answer?.needed > step.answer?.available).length;
  const mistakes = steps.filter((step) => step.answer === "mistake").length;
  assert.ok(full > 300 && mistakes > 100 && mistakes < steps.length / 5, `${full} full, ${mistakes} mistakes`);
  assert.ok(steps.some((step) => step.events.some((event) => event.event === "hit" && event.refs > 1)));
});

test("what fails leaves everything as it was", () => {
  for (const { steps } of episodes) {
    for (const [at, step] of steps.entries()) {
      if (at === 0 || (step.answer !== "mistake" && step.answer?.needed === undefined)) continue;
      assert.deepEqual([step.events, step.state], [[], steps[at - 1].state]);
    }
  }
});

test("the page's SHA-256 is the common one", () => {
  for (let length = 0; length < 200; length += 1) {
    const text = "é".repeat(length % 5) + "x".repeat(length);
    assert.equal(sha256(text), createHash("sha256").update(text).digest("hex"));
  }
});
