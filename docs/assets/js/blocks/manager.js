// @ts-check
// The owner of pool, prefix index, block tables and the event log: what a request may hold, and what is copied. As
// kvref/plan/manager.py, to whose event logs it is held, without host memory. Two designs: "full-blocks" shares whole,
// written blocks only and copies nothing; with "copy-on-write" whoever first writes into a shared block gets a copy.

import { BlockPool, Mistake, OutOfBlocks } from "./pool.js";
import { NOBODY, PrefixIndex, chainHash } from "./prefix.js";

/** @typedef {import("./prefix.js").Namespace} Namespace */
/** @typedef {{namespace: Namespace, tokens: number[], blocks: number[], confirmed: number, indexedRows: number}} Table
 *  What a request has. Row i of `blocks` holds the positions from i times the size of a block on. */
/** @typedef {{event: string, [field: string]: unknown}} Event  in the form in which Python records its own */
/** @typedef {{source: number, target: number, tokens: number}} Copy */

export const DESIGNS = ["full-blocks", "copy-on-write"];

export class KVManager {
  /** @type {Map<string, Table>} */ #tables = new Map();

  /** @param {number} totalBlocks @param {number} blockTokens
   *  @param {{design?: string, prefixCaching?: boolean, reserveNull?: boolean, hash?: typeof chainHash}} [options] */
  constructor(totalBlocks, blockTokens, { design = "full-blocks", prefixCaching = true, reserveNull = false, hash = chainHash } = {}) {
    this.pool = new BlockPool(totalBlocks, { reserveNull });
    this.index = new PrefixIndex(blockTokens, hash);
    this.blockTokens = blockTokens;
    this.copies = design === "copy-on-write";
    this.prefixCaching = prefixCaching;
    /** @type {Event[]} */
    this.log = [];
  }

  get requests() {
    return [...this.#tables.keys()];
  }

  get availableBlocks() {
    return this.pool.freeBlocks + this.pool.idleBlocks;
  }

  /** @param {string} request */
  length(request) {
    return this.#table(request).tokens.length;
  }

  /** Tokens whose K and V are written. @param {string} request */
  confirmed(request) {
    return this.#table(request).confirmed;
  }

  /** The blocks in the order of positions. @param {string} request */
  table(request) {
    return [...this.#table(request).blocks];
  }

  /** Tokens that `admit` would find. @param {number[]} tokenIds @param {Namespace} [namespace] */
  cachedPrefix(tokenIds, namespace = NOBODY) {
    return this.#prefix(tokenIds, namespace).cached;
  }

  /** Available blocks that are gone once the request is admitted and all its tokens are appended. @param {number[]} tokenIds @param {Namespace} [namespace] */
  blocksToAdmit(tokenIds, namespace = NOBODY) {
    const { blocks, cached } = this.#prefix(tokenIds, namespace);
    const copied = cached % this.blockTokens > 0 && this.pool.refCount(blocks[blocks.length - 1]) > 0;
    return blocks.filter((block) => !this.pool.refCount(block)).length + this.#rowsFor(tokenIds.length) - blocks.length + Number(copied);
  }

  /** Make a table that begins with the longest cached prefix; how many tokens that is. Always fewer than there are, so that
   *  one is computed. @param {string} request @param {number[]} tokenIds @param {Namespace} [namespace] */
  admit(request, tokenIds, namespace = NOBODY) {
    this.#checkNew(request);
    const { blocks, cached } = this.#prefix(tokenIds, namespace);
    this.#say("admitted", { request, cached_tokens: cached });
    blocks.forEach((block, row) => {
      if (!this.pool.refCount(block)) this.index.revive(block);
      this.#say("hit", { request, block, row, refs: this.pool.share(block) });
    });
    this.#tables.set(request, { namespace, tokens: tokenIds.slice(0, cached), blocks, confirmed: cached, indexedRows: blocks.length });
    return cached;
  }

  /** Blocks that further tokens take, that of a copy included. @param {string} request @param {number} count */
  blocksNeeded(request, count) {
    const table = this.#table(request);
    return this.#rowsFor(table.tokens.length + count) - table.blocks.length + Number(count > 0 && this.#mustCopy(table));
  }

  /** Slots for these tokens, all or none. @param {string} request @param {number[]} tokenIds @returns {{slots: number[], copies: Copy[]}} */
  append(request, tokenIds) {
    const table = this.#table(request);
    if (tokenIds.length === 0) throw new Mistake("there is nothing to append.");
    const needed = this.blocksNeeded(request, tokenIds.length);
    if (needed > this.availableBlocks) throw new OutOfBlocks(needed, this.availableBlocks);
    const start = table.tokens.length;
    const copies = this.#makeWritable(request, table);
    table.tokens.push(...tokenIds);
    for (let row = table.blocks.length; row < this.#rowsFor(table.tokens.length); row += 1) table.blocks.push(this.#take(request, row));
    this.#say("appended", { request, start, token_ids: [...tokenIds] });
    const slots = tokenIds.map((_, i) => table.blocks[Math.floor((start + i) / this.blockTokens)] * this.blockTokens + ((start + i) % this.blockTokens));
    return { slots, copies };
  }

  /** K and V of the first tokens are written: only now can others find the blocks that they fill. @param {string} request @param {number} length */
  confirm(request, length) {
    const table = this.#table(request);
    if (length < table.confirmed || length > table.tokens.length) throw new Mistake(`${length} tokens cannot be confirmed.`);
    if (length === table.confirmed) return;
    table.confirmed = length;
    this.#say("confirmed", { request, length });
    this.#indexRows(request, table);
  }

  /** A table that shares the parent's blocks; how many tokens it has. @param {string} parent @param {string} child */
  fork(parent, child) {
    const source = this.#table(parent);
    this.#checkNew(child);
    if (source.confirmed < source.tokens.length) throw new Mistake("not all tokens of the parent are confirmed.");
    const length = source.tokens.length - (this.copies ? 0 : source.tokens.length % this.blockTokens);
    const rows = this.#rowsFor(length);
    this.#say("forked", { parent, child, tokens: length });
    const blocks = source.blocks.slice(0, rows);
    blocks.forEach((block, row) => this.#say("shared", { request: child, block, row, refs: this.pool.share(block) }));
    this.#tables.set(child, { namespace: source.namespace, tokens: source.tokens.slice(0, length), blocks, confirmed: length, indexedRows: Math.min(source.indexedRows, rows) });
    return length;
  }

  /** Drop the tokens past a length and the rows that they alone filled; how many tokens are kept. @param {string} request @param {number} length */
  truncate(request, length) {
    const table = this.#table(request);
    if (length < 0 || length > table.tokens.length) throw new Mistake(`${length} tokens cannot be kept.`);
    if (length === table.tokens.length) return length;
    const block = table.blocks[Math.floor(length / this.blockTokens)];
    const within = !this.copies && (this.index.holds(block) || this.pool.refCount(block) > 1) ? length % this.blockTokens : 0;
    const kept = length - within;
    const rows = this.#rowsFor(kept);
    this.#releaseRows(request, table.blocks, rows);
    table.tokens.length = kept;
    table.confirmed = Math.min(table.confirmed, kept);
    table.indexedRows = Math.min(table.indexedRows, rows);
    this.#say("truncated", { request, length: kept });
    return kept;
  }

  /** The request is done: its rows are released from the tail. @param {string} request */
  free(request) {
    this.#releaseRows(request, this.#table(request).blocks, 0);
    this.#tables.delete(request);
    this.#say("freed", { request });
  }

  /** @param {string} event @param {Record<string, unknown>} fields */
  #say(event, fields) {
    this.log.push({ event, ...fields });
  }

  /** @param {number} tokens */
  #rowsFor(tokens) {
    return Math.ceil(tokens / this.blockTokens);
  }

  /** The blocks to take and the tokens that count as cached. @param {number[]} tokenIds @param {Namespace} namespace */
  #prefix(tokenIds, namespace) {
    if (!this.prefixCaching) return { blocks: [], cached: 0 };
    const blocks = this.index.match(tokenIds, namespace);
    const all = blocks.length * this.blockTokens;
    const cached = all < tokenIds.length || all === 0 ? all : all - (this.copies ? 1 : this.blockTokens);
    return { blocks: blocks.slice(0, this.#rowsFor(cached)), cached };
  }

  /** Does the next token go into a block that others hold too? @param {Table} table */
  #mustCopy(table) {
    return table.tokens.length % this.blockTokens > 0 && this.pool.refCount(table.blocks[table.blocks.length - 1]) > 1;
  }

  /** See to it that the block of the next token has one holder and is not in the index. @param {string} request @param {Table} table @returns {Copy[]} */
  #makeWritable(request, table) {
    const tokens = table.tokens.length % this.blockTokens;
    if (tokens === 0) return [];
    const row = table.blocks.length - 1;
    const source = table.blocks[row];
    if (this.#mustCopy(table)) {
      const target = this.#take(request, row);
      table.blocks[row] = target;
      this.#say("copied", { request, source, target, row, tokens });
      this.#release(request, row, source);
      table.indexedRows = Math.min(table.indexedRows, row);
      return [{ source, target, tokens }];
    }
    if (this.index.holds(source)) {
      this.index.forget(source);
      this.#say("unindexed", { request, block: source, row });
      table.indexedRows = row;
    }
    return [];
  }

  /** A block for that row: the least recently used idle one if none is free. @param {string} request @param {number} row */
  #take(request, row) {
    if (this.pool.freeBlocks === 0 && this.pool.idleBlocks > 0) {
      const idle = this.index.evict();
      this.pool.reclaim(idle);
      this.#say("evicted", { block: idle });
    }
    const block = this.pool.allocate();
    this.#say("allocated", { request, block, row });
    return block;
  }

  /** Hold a block no more: idle if it can be found, else free. @param {string} request @param {number} row @param {number} block */
  #release(request, row, block) {
    const known = this.index.holds(block);
    const refs = this.pool.release(block, known);
    const kept = known && refs === 0;
    if (kept) this.index.retire(block);
    this.#say("released", { request, block, row, refs, kept });
  }

  /** The tail first, so that a prefix outlives what follows it. @param {string} request @param {number[]} blocks @param {number} keep */
  #releaseRows(request, blocks, keep) {
    while (blocks.length > keep) {
      const block = /** @type {number} */ (blocks.pop());
      this.#release(request, blocks.length, block);
    }
  }

  /** Let the full, confirmed rows be found. @param {string} request @param {Table} table */
  #indexRows(request, table) {
    if (!this.prefixCaching) return;
    for (let row = table.indexedRows; row < Math.floor(table.confirmed / this.blockTokens); row += 1) {
      const block = table.blocks[row];
      if (!this.index.holds(block)) {
        const content = table.tokens.slice(row * this.blockTokens, (row + 1) * this.blockTokens);
        const key = this.index.insert(block, content, table.namespace, row ? table.blocks[row - 1] : null);
        this.#say("indexed", { request, block, row, key });
      }
      table.indexedRows = row + 1;
    }
  }

  /** @param {string} request */
  #checkNew(request) {
    if (this.#tables.has(request)) throw new Mistake(`${request} has a table already.`);
  }

  /** @param {string} request @returns {Table} */
  #table(request) {
    const table = this.#tables.get(request);
    if (!table) throw new Mistake(`${request} has no table.`);
    return table;
  }
}
