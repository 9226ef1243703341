"""`cubelane check`: every checker on one kernel, a table, exit 1 on a finding."""

import json

from cubelane.analysis.memory_budget import HEADER as BUDGET_HEADER
from cubelane.analysis.memory_budget import budget
from cubelane.check.compiled import compile_program
from cubelane.check.kernel_file import read_judge, read_program, split_name
from cubelane.check.lanes import check_lanes
from cubelane.check.protocol import check_protocol
from cubelane.check.pto_text import judge_text
from cubelane.cli import micro
from cubelane.cli.boundary import add_format, parser, report
from cubelane.cli.options import add_mode, add_target
from cubelane.report.console import show_table


def main(argv: list[str]) -> int:
    """Runs the command."""
    arguments = parser("check", "Run every checker on a kernel.")
    arguments.add_argument("file", metavar="FILE[:KERNEL]", help="the kernel file")
    add_target(arguments)
    add_mode(arguments)
    arguments.add_argument("--golden", metavar="FILE", help="for PTO text: defines inputs() and golden()")
    add_format(arguments)
    given = arguments.parse_args(argv)
    if micro.handles(given.file):
        return micro.run("check", given)
    compiled = compile_program(read_program(given.file), given.target, given.mode, keep_stages=True)
    judge = read_judge(split_name(given.file)[0])
    verdict = compiled.judge(judge)
    protocols = check_protocol(compiled.module)
    lanes = check_lanes(compiled)
    text = judge_text(compiled, judge)
    findings = [*verdict.findings, *(f for checked in (*protocols, *lanes, text) for f in checked.findings)]
    rows = [("execution", "ok" if not verdict.findings else verdict.findings[0].code)]
    rows += [(f"protocol of {protocol.kernel}", str(protocol).partition(": ")[2]) for protocol in protocols]
    rows += [(f"lanes of {lane.kernel} on '{lane.tensor}'", str(lane)) for lane in lanes]
    rows += [(f"equal to the {name}", "ok" if c.equal else str(c)) for name, c in verdict.comparisons.items()]
    rows.append(("PTO text, read back", str(text)))
    used = [row.row() for row in budget(compiled.module)]
    good = verdict.equal and text.good and not findings
    if given.format == "json":
        facts = {
            "kernel": compiled.name,
            "good": good,
            "checks": [{"check": name, "verdict": word} for name, word in rows],
            "budget": [dict(zip(BUDGET_HEADER, row, strict=True)) for row in used],
            "findings": [finding.as_json() for finding in findings],
        }
        print(json.dumps(facts, indent=1))
        return 0 if good else 1
    show_table(("check", "verdict"), rows)
    print()
    show_table(BUDGET_HEADER, used)
    for finding in findings:
        report(finding)
    for note in verdict.notes:
        print(note)
    return 0 if good else 1
