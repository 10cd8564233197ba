"""Which tensors a checkpoint must hold, and their shapes.

One table a family, under the names of Hugging Face without the leading ``transformer.`` or ``model.``: used
to check what was loaded and to count parameters. Shapes are as stored: ``Linear`` is [out, in], GPT-2's
``Conv1D`` is [in, out]. Knows nothing about tensors.
"""

from kvref.config import ModelConfig

Shapes = dict[str, tuple[int, ...]]

EMBEDDING = {"gpt2": "wte.weight", "llama": "embed_tokens.weight"}
HEAD = "lm_head.weight"


def weight_shapes(config: ModelConfig) -> Shapes:
    """Name and shape of every tensor of this model; a tied head has none of its own."""
    shapes = _gpt2(config) if config.architecture == "gpt2" else _llama(config)
    if not config.tied_head:
        shapes[HEAD] = (config.vocab_size, config.hidden_size)
    return shapes


def _gpt2(config: ModelConfig) -> Shapes:
    hidden, inner = config.hidden_size, config.intermediate_size
    shapes: Shapes = {"wte.weight": (config.vocab_size, hidden), "wpe.weight": (config.max_positions, hidden)}
    for layer in range(config.layers):
        shapes |= {
            **_norm(f"h.{layer}.ln_1", hidden),
            **_conv1d(f"h.{layer}.attn.c_attn", hidden, 3 * hidden),
            **_conv1d(f"h.{layer}.attn.c_proj", hidden, hidden),
            **_norm(f"h.{layer}.ln_2", hidden),
            **_conv1d(f"h.{layer}.mlp.c_fc", hidden, inner),
            **_conv1d(f"h.{layer}.mlp.c_proj", inner, hidden),
        }
    return shapes | _norm("ln_f", hidden)


def _llama(config: ModelConfig) -> Shapes:
    hidden, inner = config.hidden_size, config.intermediate_size
    queries, keys = config.query_heads * config.head_dim, config.kv_heads * config.head_dim
    shapes: Shapes = {"embed_tokens.weight": (config.vocab_size, hidden)}
    for layer in range(config.layers):
        shapes |= {
            f"layers.{layer}.input_layernorm.weight": (hidden,),
            f"layers.{layer}.self_attn.q_proj.weight": (queries, hidden),
            f"layers.{layer}.self_attn.k_proj.weight": (keys, hidden),
            f"layers.{layer}.self_attn.v_proj.weight": (keys, hidden),
            f"layers.{layer}.self_attn.o_proj.weight": (hidden, queries),
            f"layers.{layer}.post_attention_layernorm.weight": (hidden,),
            f"layers.{layer}.mlp.gate_proj.weight": (inner, hidden),
            f"layers.{layer}.mlp.up_proj.weight": (inner, hidden),
            f"layers.{layer}.mlp.down_proj.weight": (hidden, inner),
        }
    return shapes | {"norm.weight": (hidden,)}


def _norm(name: str, size: int) -> Shapes:
    return {f"{name}.weight": (size,), f"{name}.bias": (size,)}


def _conv1d(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}.weight": (inputs, outputs), f"{name}.bias": (outputs,)}
