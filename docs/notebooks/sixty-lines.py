# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
#   page:
#     title: A KV cache in sixty lines
#     description: A complete KV cache with a small seeded model around it, in sixty lines of torch; the same reply with it and without it.
#     stand_in: the small seeded model of this notebook
# ---

# %% [markdown]
# # A KV cache in sixty lines
#
# **A small seeded model.** The weights below are random numbers drawn from one seed. They show the mechanism, not a language
# model; every other page uses a trained one.
#
# The whole of it, model included, is sixty lines of torch, blank lines aside. You may change any of it and run it again: the
# sizes, the seed, the prompt. At the end the same tokens are written twice, with the cache and without one.
#
# ## A model to cache
#
# There are more query heads than KV heads (grouped-query attention), and positions are learned vectors, as in GPT-2.

# %%
import torch
import torch.nn.functional as F

torch.manual_seed(0)
VOCAB, POSITIONS, LAYERS, QUERY_HEADS, KV_HEADS, HEAD_DIM = 50, 64, 3, 6, 2, 8
WIDE, KV = QUERY_HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM


def matrix(inputs, outputs):
    return torch.randn(inputs, outputs) / inputs**0.5


tokens, places = torch.randn(VOCAB, WIDE), torch.randn(POSITIONS, WIDE)
shapes = {"q": (WIDE, WIDE), "k": (WIDE, KV), "v": (WIDE, KV), "out": (WIDE, WIDE)}
shapes |= {"up": (WIDE, 4 * WIDE), "down": (4 * WIDE, WIDE)}
layers = [{name: matrix(*shape) for name, shape in shapes.items()} for _ in range(LAYERS)]
head = matrix(WIDE, VOCAB)

# %% [markdown]
# ## The cache
#
# Two tensors, one for keys and one for values, with room for every layer, token and KV head. A pass writes its rows behind the
# old ones and reads all of them. Nothing that was written is touched again. There is no place for queries: each is used once,
# by its own token.


# %%
class Cache:
    def __init__(self, capacity):
        self.k = torch.zeros(LAYERS, capacity, KV_HEADS, HEAD_DIM)
        self.v = torch.zeros_like(self.k)
        self.length = 0

    def append(self, layer, k, v):
        end = self.length + len(k)
        self.k[layer, self.length : end], self.v[layer, self.length : end] = k, v
        return self.k[layer, :end], self.v[layer, :end]


# %% [markdown]
# ## Attention over what is kept
#
# $$\operatorname{softmax}\!\left(\frac{q K^{\mathsf T}}{\sqrt{d_\text{head}}}\right) V$$
#
# There is one row of $q$ for each new token, and one row of $K$ and $V$ for every token so far. The mask keeps a token from
# seeing later ones; for a single new token there are none, and nothing is masked.


# %%
def attention(number, layer, x, cache):
    q = (x @ layer["q"]).view(len(x), KV_HEADS, -1, HEAD_DIM)  # by KV head
    k = (x @ layer["k"]).view(len(x), KV_HEADS, HEAD_DIM)
    v = (x @ layer["v"]).view(len(x), KV_HEADS, HEAD_DIM)
    keys, values = cache.append(number, k, v)
    scores = torch.einsum("qhgd,khd->hgqk", q, keys) / HEAD_DIM**0.5
    seen = torch.ones(len(x), len(keys), dtype=torch.bool).tril(len(keys) - len(x))
    weights = scores.masked_fill(~seen, -torch.inf).softmax(dim=-1)
    return torch.einsum("hgqk,khd->qhgd", weights, values).flatten(1) @ layer["out"]


def forward(ids, cache):
    x = tokens[ids] + places[cache.length : cache.length + len(ids)]
    for number, layer in enumerate(layers):
        x = x + attention(number, layer, F.layer_norm(x, [WIDE]), cache)
        x = x + F.gelu(F.layer_norm(x, [WIDE]) @ layer["up"]) @ layer["down"]
    cache.length += len(ids)
    return F.layer_norm(x[-1], [WIDE]) @ head


# %% [markdown]
# ## The same reply twice
#
# With the cache the prompt goes in once, then one token a step. Without it, all tokens go in at every step, into a cache
# that is thrown away. `fed` notes how many went in each time: so many rows of K and V every layer computed.


# %%
def with_cache(prompt, steps):
    cache, fed, logits = Cache(len(prompt) + steps), [len(prompt)], []
    logits.append(forward(prompt, cache))
    for _ in range(steps):
        fed.append(1)
        logits.append(forward([int(logits[-1].argmax())], cache))
    return torch.stack(logits), fed, cache


def without_cache(prompt, steps):
    ids, fed, logits = list(prompt), [], []
    for _ in range(steps + 1):
        fed.append(len(ids))
        logits.append(forward(ids, Cache(len(ids))))
        ids.append(int(logits[-1].argmax()))
    return torch.stack(logits), fed


# %%
cached, fed, cache = with_cache([3, 1, 4], steps=12)
plain, fed_again = without_cache([3, 1, 4], steps=12)
print("tokens with the cache:", cached.argmax(-1).tolist())
print("tokens without one:   ", plain.argmax(-1).tolist())
print(f"largest logit: {cached.abs().max():.3f}")
print(f"largest difference between the logits: {(cached - plain).abs().max():.1e}")

# %% [markdown]
# The tokens are the same. The logits differ by no more than the rounding of float32, because products of other shapes are added
# up in another order. **The method is exact**; what differs is rounding. The last token is written but not fed, so the cache
# holds all but that one.
#
# ## What it saves and what it costs

# %%
print("K,V rows in each layer:", sum(fed), "with the cache,", sum(fed_again), "without")
print("bytes a token:", 2 * LAYERS * KV_HEADS * HEAD_DIM * cache.k.element_size())
print("the cache:", cache.k.nbytes + cache.v.nbytes, "bytes for", cache.length, "tokens")

# %% [markdown]
# Bytes a token are $2 \times \text{layers} \times \text{KV heads} \times d_\text{head} \times \text{bytes per number}$, and the
# cache takes that for each token it has room for.
#
# ## Go deeper
#
# [One token at a time](../learn/one-token.md) counts the same two lanes on a trained model;
# [a decode step](../learn/decode.md) shows the numbers of one row of scores.
