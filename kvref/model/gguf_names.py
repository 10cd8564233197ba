"""What llama.cpp's converter calls the tensors of a model, and what Hugging Face calls them. Knows no files."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Names:
    """The names of an architecture's tensors, in the file and in Hugging Face's layout."""

    kinds: tuple[str, ...]  # what follows each name
    outer: dict[str, str]
    layer: str  # what stands before a layer's number there; in the file it is `blk`
    inner: dict[str, str]  # within a layer

    def of(self, layers: int) -> dict[str, str]:
        """Hugging Face's name for every name in the file of a model with so many layers."""
        names = dict(self.outer)
        for number in range(layers):
            names |= {f"blk.{number}.{a}": f"{self.layer}.{number}.{b}" for a, b in self.inner.items()}
        return {f"{a}.{kind}": f"{b}.{kind}" for a, b in names.items() for kind in self.kinds}


LLAMA = Names(
    kinds=("weight",),
    outer={"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"},
    layer="model.layers",
    inner={
        "attn_norm": "input_layernorm",
        "attn_q": "self_attn.q_proj",
        "attn_k": "self_attn.k_proj",
        "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj",
        "ffn_norm": "post_attention_layernorm",
        "ffn_gate": "mlp.gate_proj",
        "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    },
)
GPT2 = Names(
    kinds=("weight", "bias"),
    outer={
        "token_embd": "transformer.wte",
        "position_embd": "transformer.wpe",
        "output_norm": "transformer.ln_f",
        "output": "lm_head",
    },
    layer="transformer.h",
    inner={
        "attn_norm": "ln_1",
        "attn_qkv": "attn.c_attn",
        "attn_output": "attn.c_proj",
        "ffn_norm": "ln_2",
        "ffn_up": "mlp.c_fc",
        "ffn_down": "mlp.c_proj",
    },
)
