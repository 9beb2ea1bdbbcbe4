"""Puts the table of docs/verdicts.md together; see scripts/verdicts."""

import json
import pathlib
import subprocess
import sys

DATA = pathlib.Path("../shared/data/pathologies")
PAGE = pathlib.Path("docs/verdicts.md")
RULES = {
    "pageable_copy": ["pageable-copies"],
    "exposed_copy": ["exposed-copies"],
    "fuse:attention": ["eager-attention", "fusable-chain"],
    "fuse:swiglu": ["fusable-chain"],
}


def matches(expected, finding):
    """Whether a finding is the expected one."""
    if expected.startswith("host_stall:"):
        return finding["rule"] == "idle-gpu" and expected.split(":")[1] in finding["title"]
    return finding["rule"] in RULES.get(expected, [expected.replace("_", "-")])


def row(binary, name, truth):
    """One run: what was injected, what is said, and whether that is right."""
    command = [binary, "explain", str(DATA / f"{name}.json.gz"), "--format", "json"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    verdict, findings = said["verdict"], said["findings"]
    idle = said["tables"]["idle_causes"]
    total = sum(cause["idle_ns"] for cause in idle)
    unknown = sum(cause["idle_ns"] for cause in idle if cause["cause"] == "not recorded")
    exact = total == verdict["idle_ns"]
    places = [
        next((place for place, finding in enumerate(findings, 1) if matches(expected, finding)), None)
        for expected in truth["expect"]
    ]
    found = not places or any(place and place <= 2 for place in places)
    right = found and exact and verdict["bound_by"] in truth["bound_by"]
    top = [f"{one['rule']} {one['gain_ceiling_ns'] / 1e6:.2f} ms" for one in findings[:2]]
    share = 100 * (1 - unknown / total) if total else 100.0
    cells = [
        f"`{name}`",
        truth["injected"],
        verdict["bound_by"] or "cannot judge",
        f"{verdict['busy_pct']:.1f} %",
        ", ".join(top) or "nothing",
        f"{share:.0f} %",
        "yes" if right else "**no**",
    ]
    return "| " + " | ".join(cells) + " |", right


def main():
    truth = json.loads((DATA / "truth.json").read_text())
    rows = [row(sys.argv[1], name, expected) for name, expected in truth.items()]
    head = [
        "| run | injected | bound by | busy | first two findings | idle time with a cause | right |",
        "|---|---|---|---|---|---|---|",
    ]
    text = PAGE.read_text()
    before, _, rest = text.partition("<!-- table -->\n")
    after = rest.partition("<!-- end -->")[2]
    table = "\n".join(head + [line for line, _ in rows])
    count = sum(right for _, right in rows)
    PAGE.write_text(f"{before}<!-- table -->\n{table}\n\n{count} of {len(rows)} are right.\n<!-- end -->{after}")
    print(f"{count} of {len(rows)} are right")


main()
