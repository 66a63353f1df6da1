"""``python -m markscheme.trainer.train --config recipe.yaml``, which accelerate and torchrun start with ``-m``."""

from __future__ import annotations

import sys

from markscheme.verifiers.errors import MarkschemeError


def main() -> None:
    """Run; show what the user can mend as one message, and exit with 2."""
    from markscheme.trainer.launch import main as launch  # noqa: PLC0415 - an error of its imports is shown too

    try:
        launch(sys.argv[1:])
    except (MarkschemeError, OSError) as error:
        sys.exit(_shown(error))


def _shown(error: Exception) -> int:
    print(f"error: {error}", file=sys.stderr)  # noqa: T201
    return 2


if __name__ == "__main__":
    main()
