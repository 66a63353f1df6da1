"""TRL's own GRPO tests, with TRL's trainer and with ours: `compare.py TESTS WORK [PYTEST ARGUMENTS]`.

TESTS is the folder `tests` of a TRL source tree of your own; nothing of it is part of this repository. WORK gets the
stand-ins for the Hub's models, the reports and a table. The exit status is 1 when a test comes out differently.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import standins
from swap import ARMS

HERE = Path(__file__).resolve().parent


def run(arm: str, tests: Path, work: Path, more: list[str]) -> dict[str, str]:
    """The outcome of each test: passed, failed, error or skipped."""
    report = work / f"{arm}.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "swap", "-p", "no:cacheprovider", f"--junitxml={report}"]
    command += ["-c", os.devnull, f"--rootdir={tests.parent}", str(tests / "test_grpo_trainer.py"), *more]
    environment = {
        **os.environ,
        "MARKSCHEME_PEER": arm,
        "HF_HUB_OFFLINE": "1",
        "ACCELERATE_USE_CPU": "1",
        "TRL_EXPERIMENTAL_SILENCE": "1",
        "PYTHONPATH": os.pathsep.join([str(HERE), str(tests.parent), *filter(None, sys.path)]),
    }
    with (work / f"{arm}.log").open("w") as log:
        subprocess.run(command, cwd=work, env=environment, stdout=log, stderr=log, check=False)
    if not report.is_file():
        sys.exit(f"no report of the arm {arm!r}; see {work / f'{arm}.log'}")
    outcomes = {}
    for case in ET.parse(report).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        outcomes[f"{case.get('classname', '').rsplit('.', 1)[-1]}::{case.get('name')}"] = (kinds or ["passed"])[0]
    return outcomes


def main(tests: str = "", work: str = "out/peer", *more: str) -> int:
    if not tests or not (Path(tests) / "test_grpo_trainer.py").is_file():
        print(
            f"skipped: {tests or 'PEER_TESTS'} holds no test_grpo_trainer.py; give the folder `tests` of TRL's source"
        )
        return 0
    place = Path(work).resolve()
    place.mkdir(parents=True, exist_ok=True)
    standins.main(str(place))
    results = {arm: run(arm, Path(tests).resolve(), place, list(more)) for arm in ARMS}
    for arm, outcomes in results.items():
        print(f"{ARMS[arm]:<30} {dict(Counter(outcomes.values()))}")
    names = sorted(set().union(*results.values()))
    differing = {name: {arm: results[arm].get(name) for arm in ARMS} for name in names}
    differing = {name: row for name, row in differing.items() if len(set(row.values())) > 1}
    for name, row in differing.items():
        print(f"differs: {name}: {row}")
    (place / "results.json").write_text(json.dumps({"results": results, "differing": differing}, indent=1))
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
