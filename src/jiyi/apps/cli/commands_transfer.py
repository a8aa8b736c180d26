"""Commands that write memories to files and take them in: jiyi's own form, and the forms of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jiyi.apps.cli.exit_codes import Code
from jiyi.apps.cli.framework import command
from jiyi.apps.cli.progress import progress
from jiyi.apps.cli.renderables import Text, text
from jiyi.apps.cli.session import Session
from jiyi.errors import InvalidInputError

if TYPE_CHECKING:
    from jiyi.importers import ImportReport

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="A file, or a folder.", show_default=False)]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="PROGRAM",
        help="Whose export it is: mem0, chatgpt, claude, mcp-memory, basic-memory, openclaw, claude-code, langgraph, "
        "llamaindex, or rows of your own: jsonl, csv. Not given: a file of jiyi export.",
        show_default=False,
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only count, and show the first ones; needs --from.")]
ExtractOption = Annotated[
    bool,
    typer.Option(
        "--extract", help="Look through the imported conversations for facts, in the background; needs --from."
    ),
]
RestoreOption = Annotated[
    bool,
    typer.Option("--restore-forgotten", help="Also take in what was forgotten here; needs --from."),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="OURS=THEIRS",
        help="For jsonl and csv, which field is what: content, key, occurred_at, tags, role, conversation, scope.",
        show_default=False,
    ),
]


FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="FORM",
        help="Another form: markdown (a folder to read), mem0 or langgraph (files for those programs). Not given: a "
        "file for jiyi import.",
        show_default=False,
    ),
]


@command(
    "export",
    needs_memory=True,
    examples=[
        "jiyi export memories.jsonl",
        "jiyi export mine.jsonl --scope main",
        "jiyi export memories --format markdown",
    ],
)
def export(session: Session, file: FileArgument, form: FormatOption = None) -> Code:
    """Write everything to FILE: memories, every version, tags, conversations. With --scope, only that scope."""
    _named(file)
    if form is not None:
        return _export_to(session, file, form)
    with progress(session.output, "exporting") as advance:
        lines = session.run_without_embedder(
            lambda memory: memory.export_jsonl(file, scope=session.options.scope, progress=advance)
        )
    session.output.result(
        {"file": str(file), "lines": lines, "scope": session.options.scope},
        lambda: [text(f"wrote {lines:,} lines to {file}", "good")],
    )
    return Code.OK


@command(
    "import",
    examples=[
        "jiyi import memories.jsonl",
        "jiyi import memories.jsonl --update",
        "jiyi import chatgpt.zip --from chatgpt --dry-run",
        "jiyi import notes.csv --from csv --map content=text --map occurred_at=day",
    ],
)
def import_(
    session: Session,
    file: FileArgument,
    program: FromOption = None,
    dry_run: DryRunOption = False,
    mapping: MapOption = None,
    extract: ExtractOption = False,
    restore_forgotten: RestoreOption = False,
    update: Annotated[
        bool, typer.Option("--update", help="Let the newer of two states win, and forget what was forgotten there.")
    ] = False,
    skip_bad_rows: Annotated[
        bool, typer.Option("--skip-bad-rows", help="Leave out rows that are wrong, and name them.")
    ] = False,
) -> Code:
    """Take in a FILE written by export, all or nothing; or with --from what another program has exported.

    What is there already is left alone, so an import that broke off is simply run again. With --scope, rows of an
    export that belong to another scope are refused; with --skip-bad-rows they are left out.
    """
    _named(file)
    if program is not None:
        if update or skip_bad_rows:
            raise InvalidInputError("--update and --skip-bad-rows are for files of jiyi export; leave --from out")
        options = {"dry_run": dry_run, "extract": extract, "restore_forgotten": restore_forgotten}
        return _import_from(session, file, program, mapping=_mapping(mapping), options=options)
    if dry_run or mapping or extract or restore_forgotten:
        raise InvalidInputError(
            "--dry-run, --map, --extract and --restore-forgotten are for other programs' files; name one with --from"
        )
    with progress(session.output, "importing", total=_lines(file)) as advance:
        counts = session.run_without_embedder(
            lambda memory: memory.import_jsonl(
                file, update=update, skip_bad_rows=skip_bad_rows, scope=session.options.scope, progress=advance
            )
        )
    data = {
        "file": str(file),
        "entries": counts.entries,
        "versions": counts.versions,
        "messages": counts.messages,
        "chat": counts.chat,
        "unchanged": counts.unchanged,
        "erased": counts.erased,
        "refused": list(counts.refused),
    }
    said = (
        f"took in {counts.entries:,} memories, {counts.versions:,} versions and {counts.messages:,} messages; "
        f"{counts.unchanged:,} lines were here already"
    )
    bad = [text(f"left out {refused}", "bad") for refused in counts.refused]
    if counts.erased:
        lines = "line was" if counts.erased == 1 else "lines were"
        bad.append(
            text(
                f"{counts.erased:,} {lines} erased here with forget-scope or forget --erase: what was erased "
                "stays erased. To have it again, import the file into another data directory, or store it anew",
                "bad",
            )
        )
    session.output.result(data, lambda: [text(said, "good"), *bad])
    return Code.OK


def _export_to(session: Session, file: Path, form: str) -> Code:
    from jiyi.exporters import export_to

    with progress(session.output, "exporting") as advance:
        report = session.run_without_embedder(
            lambda memory: export_to(memory, form, file, scope=session.options.scope, progress=advance)
        )
    said = (
        f"wrote {report.entries:,} memories and {report.conversations:,} conversations to {file} "
        f"({len(report.files):,} files)"
    )
    session.output.result(report.to_dict(), lambda: [text(said, "good")])
    return Code.OK


def _import_from(
    session: Session, file: Path, program: str, *, mapping: dict[str, str], options: dict[str, bool]
) -> Code:
    from jiyi.importers import import_from

    with progress(session.output, "reading") as advance:
        report = session.run(
            lambda memory: import_from(
                memory,
                program,
                file,
                scope=session.options.scope,
                mapping=mapping,
                progress=advance,
                **options,
            ),
            embedder="none",
            actor=f"import:{program}",
        )
    session.output.result(report.to_dict(), lambda: _report(report))
    return Code.OK


def _report(report: ImportReport) -> list[Text]:
    what = "would take in" if report.dry_run else "took in"
    shown: list[Text] = [
        text(
            f"{what} {report.entries:,} memories and {report.messages:,} messages of {report.conversations:,} "
            f"conversations; {report.unchanged:,} were here already",
            "good",
        )
    ]
    if report.scheduled:
        shown.append(text(f"{report.scheduled:,} rounds wait to be looked through for facts: jiyi maintain", indent=2))
    if report.scopes:
        shown.append(text(f"scopes: {', '.join(sorted(report.scopes)[:10])}", indent=2))
    shown += [text(f"left out {count:,}: {reason}", indent=2) for reason, count in sorted(report.left_out.items())]
    shown += [text(sample, "dim", indent=2) for sample in report.samples]
    return shown


def _mapping(given: list[str] | None) -> dict[str, str]:
    found: dict[str, Any] = {}
    for each in given or ():
        ours, sign, theirs = each.partition("=")
        if not (ours and sign and theirs):
            raise InvalidInputError(f"--map {each!r} is no mapping; write it like --map content=text")
        found[ours] = theirs
    return found


def _named(file: Path) -> None:
    if str(file) == "-":
        raise InvalidInputError("FILE '-' is not a file: an export is written whole or not at all; name a file")


def _lines(file: Path) -> int | None:
    """How many lines the bar has to go. A pipe is left alone, and what cannot be read the import itself reports."""
    if not file.is_file():
        return None
    try:
        with file.open("rb") as stream:
            return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
    except OSError:
        return None
