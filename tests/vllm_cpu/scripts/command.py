"""Run ``markscheme`` with the arguments of settings.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from markscheme.cli.main import main as markscheme


def main(folder: Path) -> None:
    sys.argv = ["markscheme", *json.loads((folder / "settings.json").read_text())["arguments"]]
    try:
        markscheme()
    except SystemExit as ended:
        if ended.code:
            raise


if __name__ == "__main__":
    main(Path(sys.argv[1]))
