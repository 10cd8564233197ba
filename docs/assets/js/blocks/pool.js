// @ts-check
// The pool: fixed blocks of memory by number, who may take one, and how many hold each. The same rules and the same order
// as kvref/plan/blocks.py, to whose event logs it is held. Knows nothing about tokens, requests or what is in a block.

/** No block is left: how many were needed, how many there are. */
export class OutOfBlocks extends Error {
  /** @param {number} neededBlocks @param {number} availableBlocks */
  constructor(neededBlocks, availableBlocks) {
    super(`expected ${neededBlocks} blocks free or idle, found ${availableBlocks}.`);
    this.neededBlocks = neededBlocks;
    this.availableBlocks = availableBlocks;
  }
}

/** A call that cannot be meant: nothing was changed. */
export class Mistake extends Error {}

export class BlockPool {
  /** Taken from the head, given back at the tail. @type {Set<number>} */ #free = new Set();
  /** @type {Set<number>} */ #idle = new Set();
  /** @type {number[]} */ #refs;

  /** @param {number} totalBlocks @param {{reserveNull?: boolean}} [options] block 0 is set aside with `reserveNull` */
  constructor(totalBlocks, { reserveNull = false } = {}) {
    this.totalBlocks = totalBlocks;
    this.reservedBlocks = reserveNull ? 1 : 0;
    this.#refs = Array.from({ length: totalBlocks }, () => 0);
    for (let block = this.reservedBlocks; block < totalBlocks; block += 1) this.#free.add(block);
  }

  get freeBlocks() {
    return this.#free.size;
  }

  get idleBlocks() {
    return this.#idle.size;
  }

  get usedBlocks() {
    return this.totalBlocks - this.reservedBlocks - this.#free.size - this.#idle.size;
  }

  /** @param {number} block */
  refCount(block) {
    return this.#refs[block];
  }

  /** The free blocks in the order in which they will be handed out. */
  freeOrder() {
    return [...this.#free];
  }

  /** The block at the head of the free list, with one holder. */
  allocate() {
    const [block] = this.#free;
    if (block === undefined) throw new OutOfBlocks(1, 0);
    this.#free.delete(block);
    this.#refs[block] = 1;
    return block;
  }

  /** One more holder of a block in use, or the first one of an idle block. @param {number} block */
  share(block) {
    if (!this.#idle.delete(block) && !this.#refs[block]) throw new Mistake(`block ${block} is neither in use nor idle.`);
    this.#refs[block] += 1;
    return this.#refs[block];
  }

  /** One holder fewer; the last one leaves the block free, or with `keep` idle. @param {number} block @param {boolean} [keep] */
  release(block, keep = false) {
    if (!this.#refs[block]) throw new Mistake(`block ${block} is not in use.`);
    this.#refs[block] -= 1;
    if (this.#refs[block] === 0) (keep ? this.#idle : this.#free).add(block);
    return this.#refs[block];
  }

  /** Give up what an idle block contains: it is free, at the tail of the line. @param {number} block */
  reclaim(block) {
    if (!this.#idle.delete(block)) throw new Mistake(`block ${block} is not idle.`);
    this.#free.add(block);
  }
}
