"""Finding blocks by what they contain: a full block is known by its tokens, all tokens before it, and its namespace.

A *node* is one such content, an exact identity: (parent node, token ids, namespace). The chained hash only finds a node
quickly; on a hit the identity itself is compared, so two contents with equal hashes never meet. Several blocks may have the
same content: two equal prompts in one step both compute it, and neither table is changed afterwards.

A block is *held* or *idle*. Idle ones are evicted least recently used first. Tables are released from their tail, so that
children go before parents: a child without its parent could never be found again.

Partial reuse, where the first tokens of a block are copied and the rest computed (as TensorRT-LLM does), is not built
here: only whole blocks are found. Knows nothing about requests, tables or free blocks. After vLLM's "Automatic prefix caching"
(docs.vllm.ai, design/prefix_caching).
"""

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from kvref.checks import whole

Key = str | int


@dataclass(frozen=True)
class Namespace:
    """What keeps equal tokens apart: another ``adapter`` computes other keys and values, another ``salt`` is another tenant."""

    adapter: str | None = None
    salt: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("adapter", self.adapter), ("salt", self.salt)):
            if value is not None and not isinstance(value, str):
                raise ValueError(f"{name}: expected text or None, got {value!r}.")


HashFunction = Callable[[Key | None, tuple[int, ...], Namespace], Key]
NOBODY = Namespace()
_JSON = json.JSONEncoder(separators=(",", ":"))


def chain_hash(parent: Key | None, token_ids: tuple[int, ...], namespace: Namespace) -> str:
    """SHA-256 over the parent's hash, the tokens and each field of the namespace, the same on every machine.

    The JSON of a list tells its items apart, so ("a", "bc") and ("ab", "c") differ, as do an adapter and a salt.
    """
    content = [parent, token_ids, namespace.adapter, namespace.salt]
    return sha256(_JSON.encode(content).encode()).hexdigest()


@dataclass(eq=False, slots=True)
class _Node:
    """One content. ``held`` and ``idle`` are the blocks that have it, as dicts for their order."""

    parent: "_Node | None"
    token_ids: tuple[int, ...]
    namespace: Namespace
    key: Key
    children: int = 0
    held: dict[int, None] = field(default_factory=dict)
    idle: dict[int, None] = field(default_factory=dict)

    def block(self) -> int | None:
        """One that has this content, rather one that is held: it costs no idle one."""
        return next(iter(self.held or self.idle), None)


class PrefixIndex:
    """Full blocks of ``block_tokens`` tokens by content; ``hash_function`` changes speed only."""

    def __init__(self, block_tokens: int, hash_function: HashFunction = chain_hash) -> None:
        whole(block_tokens=block_tokens)
        self.block_tokens = block_tokens
        self.hash_function = hash_function
        self._nodes: dict[Key, list[_Node]] = {}
        self._node_of: dict[int, _Node] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()  # least recently used first; its ends are found in one step

    def __len__(self) -> int:
        return len(self._node_of)

    def __contains__(self, block: int) -> bool:
        return block in self._node_of

    def key(self, block: int) -> Key:
        """The chained hash of what the block contains."""
        return self._node(block).key

    def token_ids(self, block: int) -> tuple[int, ...]:
        """The tokens whose K and V the block contains."""
        return self._node(block).token_ids

    def match(self, token_ids: Sequence[int], namespace: Namespace = NOBODY) -> tuple[int, ...]:
        """Blocks with the longest prefix of whole blocks; it ends at the first content that no block has."""
        blocks: list[int] = []
        node = None
        for start in range(0, len(token_ids) - self.block_tokens + 1, self.block_tokens):
            block_ids = tuple(token_ids[start : start + self.block_tokens])
            node, _ = self._find(node, block_ids, namespace)
            block = node.block() if node else None
            if block is None:
                break
            blocks.append(block)
        return tuple(blocks)

    def insert(self, block: int, token_ids: Sequence[int], namespace: Namespace = NOBODY, parent: int | None = None) -> Key:
        """Let a held block be found whose K and V are written; ``parent`` is the block before it in its table. Its hash."""
        content = tuple(token_ids)
        if block in self._node_of:
            raise ValueError(f"block: expected one that is not in the index, got {block}.")
        if len(content) != self.block_tokens:
            raise ValueError(f"token_ids: expected {self.block_tokens} (a full block), got {len(content)}.")
        above = None if parent is None else self._node(parent)
        node, key = self._find(above, content, namespace)
        if node is None:
            node = _Node(above, content, namespace, key)
            self._nodes.setdefault(key, []).append(node)
            if above is not None:
                above.children += 1
        node.held[block] = None
        self._node_of[block] = node
        return key

    def retire(self, block: int) -> None:
        """Nobody holds the block any more: it is the most recently used of the idle ones."""
        node = self._node(block)
        if block in node.idle:
            raise ValueError(f"block: expected one that is held, got {block}, which is idle.")
        del node.held[block]
        node.idle[block] = None
        self._idle[block] = None

    def revive(self, block: int) -> None:
        """An idle block is held again."""
        node = self._node(block)
        if block not in node.idle:
            raise ValueError(f"block: expected an idle one, got {block}, which is held.")
        del node.idle[block], self._idle[block]
        node.held[block] = None

    def evict(self) -> int:
        """Forget the least recently used idle block; which one it was."""
        if not self._idle:
            raise ValueError("evict: expected an idle block in the index, got none.")
        block = next(iter(self._idle))
        self.forget(block)
        return block

    def forget(self, block: int) -> None:
        """The block can no longer be found; others with the same content still can."""
        node: _Node | None = self._node(block)
        assert node is not None
        del self._node_of[block]
        self._idle.pop(block, None)
        node.held.pop(block, None)
        node.idle.pop(block, None)
        while node and not (node.held or node.idle or node.children):
            self._remove(node)
            node = node.parent

    def idle_order(self) -> tuple[int, ...]:
        """The idle blocks in the order in which they will be evicted."""
        return tuple(self._idle)

    def check(self) -> None:
        """Assert that blocks, contents and the order of the idle ones agree; takes a step for every block."""
        nodes = [node for bucket in self._nodes.values() for node in bucket]
        known = {block: node for node in nodes for block in (*node.held, *node.idle)}
        assert known == self._node_of, f"{len(known)} blocks by content, {len(self._node_of)} known."
        idle = {block for node in nodes for block in node.idle}
        assert idle == set(self._idle), f"idle: {len(idle)} blocks by content, {len(self._idle)} in order of use."
        children = Counter(node.parent for node in nodes)
        for node in nodes:
            assert children[node] == node.children, f"{children[node]} contents follow this one, {node.children} counted."

    def _find(self, parent: _Node | None, token_ids: tuple[int, ...], namespace: Namespace) -> tuple[_Node | None, Key]:
        key = self.hash_function(parent.key if parent else None, token_ids, namespace)
        for node in self._nodes.get(key, ()):
            if node.parent is parent and node.token_ids == token_ids and node.namespace == namespace:
                return node, key
        return None, key

    def _remove(self, node: _Node) -> None:
        """Of a content that no block and no child needs; nodes without blocks stay as long as they have children."""
        bucket = self._nodes[node.key]
        bucket.remove(node)
        if not bucket:
            del self._nodes[node.key]
        if node.parent:
            node.parent.children -= 1

    def _node(self, block: int) -> _Node:
        node = self._node_of.get(block)
        if node is None:
            raise ValueError(f"block: expected one that is in the index, got {block!r}.")
        return node
