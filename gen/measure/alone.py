"""For a machine with torch and nothing else: a stand-in for jaxtyping, whose annotations mean nothing at run time."""

import sys
from types import ModuleType
from typing import Any


class _Shaped:
    """`Float[Tensor, "a b"]` is just Tensor."""

    def __class_getitem__(cls, item: Any) -> Any:
        return item[0] if isinstance(item, tuple) else item


def stand_in() -> bool:
    """Put a stand-in in the place of jaxtyping if that is not installed; True if it was needed."""
    try:
        import jaxtyping  # noqa: F401
    except ImportError:
        pass
    else:
        return False
    module = ModuleType("jaxtyping")
    for name in ("Bool", "Float", "Int"):
        setattr(module, name, _Shaped)
    sys.modules["jaxtyping"] = module
    return True
