// @ts-check
// Finding blocks by what they contain: a full block is known by its tokens, all tokens before it, and its namespace. The
// chained hash only finds a content quickly; on a hit the content itself is compared. As kvref/plan/prefix.py, to whose
// event logs it is held; whole blocks only. Knows nothing about requests, tables or free blocks.

import { Mistake } from "./pool.js";
import { sha256 } from "./sha256.js";

/** @typedef {{adapter: string|null, salt: string|null}} Namespace  what keeps equal tokens apart */
/** @typedef {{parent: Node|null, tokenIds: number[], namespace: Namespace, key: string|number, children: number, held: Set<number>, idle: Set<number>}} Node
 *  One content, and the blocks that have it. */

/** @type {Namespace} */
export const NOBODY = { adapter: null, salt: null };

/** The hash of a block's content, over that of the block before it. @param {string|number|null} parent @param {number[]} tokenIds @param {Namespace} namespace @returns {string|number} */
export function chainHash(parent, tokenIds, { adapter, salt }) {
  return sha256(JSON.stringify([parent, tokenIds, adapter, salt]));
}

export class PrefixIndex {
  /** @type {Map<string|number, Node[]>} */ #nodes = new Map();
  /** @type {Map<number, Node>} */ #nodeOf = new Map();
  /** Least recently used first. @type {Set<number>} */ #idle = new Set();

  /** @param {number} blockTokens */
  constructor(blockTokens, hash = chainHash) {
    this.blockTokens = blockTokens;
    this.hash = hash;
  }

  /** Can the block be found? @param {number} block */
  holds(block) {
    return this.#nodeOf.has(block);
  }

  /** The chained hash of what the block contains. @param {number} block */
  key(block) {
    return this.#node(block).key;
  }

  /** Blocks with the longest prefix of whole blocks; it ends at the first content that no block has. @param {number[]} tokenIds @param {Namespace} [namespace] */
  match(tokenIds, namespace = NOBODY) {
    const blocks = [];
    /** @type {Node|null} */
    let node = null;
    for (let start = 0; start + this.blockTokens <= tokenIds.length; start += this.blockTokens) {
      node = this.#find(node, tokenIds.slice(start, start + this.blockTokens), namespace)[0];
      const [block] = node ? (node.held.size ? node.held : node.idle) : [];
      if (block === undefined) break;
      blocks.push(block);
    }
    return blocks;
  }

  /** Let a held block be found whose K and V are written. @param {number} block @param {number[]} tokenIds @param {Namespace} namespace @param {number|null} parent the block before it in its table */
  insert(block, tokenIds, namespace = NOBODY, parent = null) {
    if (this.#nodeOf.has(block)) throw new Mistake(`block ${block} is in the index already.`);
    const above = parent === null ? null : this.#node(parent);
    let [node, key] = this.#find(above, tokenIds, namespace);
    if (!node) {
      node = { parent: above, tokenIds, namespace, key, children: 0, held: new Set(), idle: new Set() };
      this.#nodes.set(key, [...(this.#nodes.get(key) ?? []), node]);
      if (above) above.children += 1;
    }
    node.held.add(block);
    this.#nodeOf.set(block, node);
    return key;
  }

  /** Nobody holds the block any more: it is the most recently used of the idle ones. @param {number} block */
  retire(block) {
    const node = this.#node(block);
    node.held.delete(block);
    node.idle.add(block);
    this.#idle.add(block);
  }

  /** An idle block is held again. @param {number} block */
  revive(block) {
    const node = this.#node(block);
    node.idle.delete(block);
    this.#idle.delete(block);
    node.held.add(block);
  }

  /** Forget the least recently used idle block. @returns {number} which one it was */
  evict() {
    const [block] = this.#idle;
    if (block === undefined) throw new Mistake("no block is idle.");
    this.forget(block);
    return block;
  }

  /** The block can no longer be found; others with the same content still can. @param {number} block */
  forget(block) {
    /** @type {Node|null} */
    let node = this.#node(block);
    this.#nodeOf.delete(block);
    this.#idle.delete(block);
    node.held.delete(block);
    node.idle.delete(block);
    for (; node && !(node.held.size || node.idle.size || node.children); node = node.parent) this.#remove(node);
  }

  /** The idle blocks in the order in which they will be evicted. */
  idleOrder() {
    return [...this.#idle];
  }

  /** @param {Node|null} parent @param {number[]} tokenIds @param {Namespace} namespace @returns {[Node|null, string|number]} */
  #find(parent, tokenIds, namespace) {
    const key = this.hash(parent?.key ?? null, tokenIds, namespace);
    const same = (/** @type {Node} */ node) => node.parent === parent && node.namespace.adapter === namespace.adapter && node.namespace.salt === namespace.salt
      && node.tokenIds.every((id, i) => id === tokenIds[i]);
    return [this.#nodes.get(key)?.find(same) ?? null, key];
  }

  /** A content that no block and no child needs. @param {Node} node */
  #remove(node) {
    const bucket = (this.#nodes.get(node.key) ?? []).filter((one) => one !== node);
    if (bucket.length) this.#nodes.set(node.key, bucket);
    else this.#nodes.delete(node.key);
    if (node.parent) node.parent.children -= 1;
  }

  /** @param {number} block @returns {Node} */
  #node(block) {
    const node = this.#nodeOf.get(block);
    if (!node) throw new Mistake(`block ${block} is not in the index.`);
    return node;
  }
}
