"""How the size of a cache is put into words: the formula with its numbers, which layers count, what to beware of.

`docs/assets/js/memory/words.js` says the same on the page; vectors hold the two together. Knows no files.
"""

from fractions import Fraction

from kvref.plan.geometry import Geometry, Group
from kvref.plan.memory import CacheSize, Format, GroupSize, rank_heads

UNITS = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def binary(size: int | Fraction) -> str:
    """Bytes in the largest binary unit that leaves at least one, with 4 significant digits."""
    unit, step = next(((name, step) for name, step in UNITS if size >= step), ("B", 1))
    value = Fraction(size) / step
    digits = 0 if value >= 1000 or value == 0 else 3 if value < 10 else 2 if value < 100 else 1
    return f"{_decimal(value, digits)} {unit}"


def exact(size: int | Fraction) -> str:
    """Bytes in full; parts of a byte as decimals."""
    return f"{_decimal(Fraction(size), 4)} B"


def _decimal(value: Fraction, digits: int) -> str:
    """Halves go up, as they do on the page; floats would decide them by chance."""
    whole, part = divmod((2 * value * 10**digits + 1) // 2, 10**digits)
    tail = f"{part:0{digits}}".rstrip("0") if digits else ""
    return f"{whole:,}{'.' if tail else ''}{tail}"


def both(size: int | Fraction) -> str:
    """The exact number, and the rounded one where it differs: 536,870,912 B = 512 MiB."""
    short, full = binary(size), exact(size)
    if short == full:
        return full
    value, _, unit = short.partition(" ")
    same = Fraction(value.replace(",", "")) * dict(UNITS).get(unit, 1) == size
    return f"{full} {'=' if same else '≈'} {short}"


def count(number: int, one: str, many: str | None = None) -> str:
    """1 layer, 2 layers."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def formula(size: CacheSize, geometry: Geometry, tokens: int, stored: Format, ranks: int) -> str:
    """What one request takes, as a product for each group of layers."""
    terms = [_product(one, tokens, stored, ranks) for one in size.groups]
    if geometry.state:
        state = geometry.state
        shared = f" ÷ {ranks}" if ranks > 1 else ""
        terms.append(f"{count(state.layers, 'layer')} × {state.numbers:,} × {state.bytes_per_number} B{shared}")
    return " + ".join(terms)


def _product(one: GroupSize, tokens: int, stored: Format, ranks: int) -> str:
    group = one.group
    if group.latent:
        row = count(group.latent, "number")
    else:
        heads = rank_heads(group, ranks)
        of = f" of {group.kv_heads}" if heads != group.kv_heads else ""
        same = group.key_dim == group.value_dim
        row = f"{heads}{of} KV head{'s' if group.kv_heads > 1 else ''} × "
        row = f"2 × {row}{group.key_dim}" if same else f"{row}({group.key_dim} + {group.value_dim})"
    name = "slot" if one.slots != one.rows else "row" if one.rows != tokens else "token"
    return f"{count(group.layers, 'layer')} × {row} × {count(one.slots, name)} × {width(stored)}"


def width(stored: Format) -> str:
    """Bytes of a number: 2 B, or (8 + 16/64)/8 B with a scale of 16 bits for 64 numbers."""
    if stored.extra_bits:
        return f"({stored.bits} + {stored.extra_bits}/{stored.group})/8 B"
    return f"{stored.bytes_per_number} B"


def layers(geometry: Geometry) -> list[str]:
    """Which layers keep something, and what; one phrase a group."""
    phrases = [_group(group) for group in geometry.groups]
    if geometry.state:
        phrases.append(f"{count(geometry.state.layers, 'layer')}: a state of fixed size ({geometry.state.kind})")
    if geometry.shared_layers:
        phrases.append(f"{count(geometry.shared_layers, 'layer')}: nothing, they read an earlier layer's cache")
    kept = sum(group.layers for group in geometry.groups) + (geometry.state.layers if geometry.state else 0)
    if (rest := geometry.layers - kept - geometry.shared_layers) > 0:
        phrases.append(f"{count(rest, 'layer')}: nothing, they do not attend")
    return phrases


def _group(group: Group) -> str:
    what = f"{group.latent} numbers for all heads" if group.latent else "K and V"
    if group.every > 1:
        return f"{count(group.layers, 'layer')}: {what}, one row for {group.every} tokens"
    if group.window is None:
        return f"{count(group.layers, 'layer')}: {what} of every token"
    if group.chunked:
        return f"{count(group.layers, 'layer')}: {what} of one chunk, at most {group.window:,} tokens"
    return f"{count(group.layers, 'layer')}: {what} of the last {count(group.window, 'token')}"


def warnings(geometry: Geometry, tokens: int, ranks: int) -> list[str]:
    """What a reader must know before believing the number."""
    found = []
    most = geometry.max_positions
    if most is not None and tokens > most:
        found.append(f"{geometry.name} has {most:,} positions: {tokens:,} tokens are arithmetic only")
    if ranks > 1 and any(group.latent for group in geometry.groups):
        found.append(f"the row that all heads share is kept by each of the {ranks} devices")
    repeated = {ranks // group.kv_heads for group in geometry.groups if not group.latent and ranks > group.kv_heads}
    if geometry.guessed:
        found.append("no model_type is given: KV heads or head size are read as Llama's, from query heads and hidden size")
    found += [f"each KV head is kept by {copies} devices" for copies in sorted(repeated)]
    return found
