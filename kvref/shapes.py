"""The shapes that signatures speak of, one name each.

Tokens are always the first axis. ``q_len`` counts the tokens of this pass, ``kv_len`` the tokens whose keys
can be read. The names are checked in the tests only (jaxtyping's import hook); at run time they cost nothing.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

TokenIds = Int[Tensor, " q_len"]
Positions = Int[Tensor, " q_len"]

Hidden = Float[Tensor, "q_len hidden"]
Logits = Float[Tensor, "rows vocab"]
NextLogits = Float[Tensor, " vocab"]

Queries = Float[Tensor, "q_len query_heads head_dim"]
NewKeys = Float[Tensor, "q_len kv_heads head_dim"]
NewValues = Float[Tensor, "q_len kv_heads head_dim"]
Keys = Float[Tensor, "kv_len kv_heads head_dim"]
Values = Float[Tensor, "kv_len kv_heads head_dim"]
Scores = Float[Tensor, "q_len query_heads kv_len"]
LogSums = Float[Tensor, "q_len query_heads"]
Allowed = Bool[Tensor, "q_len kv_len"]
Attended = tuple[Scores, Scores, Queries]

RopeRow = Float[Tensor, "q_len 1 head_dim"]
