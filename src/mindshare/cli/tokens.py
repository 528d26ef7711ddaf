"""`mindshare tokens`: a prompt and class rules become classed text, before anything is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mindshare.cli.options import (
    SOURCE,
    ChatOption,
    ClassOption,
    DataOption,
    FileOption,
    Marked,
    Model,
    PolicyOption,
    TextOption,
    TrustRemoteCode,
)

if TYPE_CHECKING:
    from rich.console import Console

    from mindshare.tokens import Classed

Limit = Annotated[
    int,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        help="Show the first N prompts of --data.",
        rich_help_panel=SOURCE,
    ),
]


def tokens(
    model: Model,
    text: TextOption = None,
    file: FileOption = None,
    chat: ChatOption = None,
    data: DataOption = None,
    marked: Marked = False,
    class_: ClassOption = None,
    policy: PolicyOption = "priority",
    limit: Limit = 3,
    trust_remote_code: TrustRemoteCode = False,
) -> None:
    """Show a prompt's tokens by class, in colour, with a count per class.

    \b
    Examples:
      mindshare tokens smollm2 --text 'a ## b **' --class hash=# --class star='*'
      mindshare tokens smollm2 --file map.txt --class hash=# --policy pure
      mindshare tokens smollm2 --chat talk.json --class user=role:user
    """
    from mindshare.cli.screen import say, stdout
    from mindshare.cli.sources import Source
    from mindshare.models import load_reader
    from mindshare.study import encode_for
    from mindshare.tokens import classify, parse_classes

    classes = parse_classes(class_ or (), policy=policy)  # type: ignore[arg-type]
    prompts = Source(text, file, chat, data, marked).read(limit=limit)
    reader = load_reader(model, trust_remote_code=trust_remote_code)
    console = stdout()
    for number, prompt in enumerate(prompts):
        if number:
            say(console)
        show_classed(console, classify(encode_for(reader, prompt), classes))


def show_classed(console: Console, classed: Classed) -> None:
    """The text, the legend, the BOS; what to beware of goes to stderr."""
    from mindshare.cli import classed_text as view
    from mindshare.cli.numbers import counted
    from mindshare.cli.screen import in_colour, say, warn

    encoded, colour = classed.encoded, in_colour(console)
    size = f"{counted(len(encoded), 'token')}, {counted(len(encoded.text), 'character')}"
    say(console, f"Prompt {encoded.prompt.id}: {size}")
    say(console)
    if colour:
        console.print(view.coloured_text(classed))
    else:
        say(console, view.plain_text(classed))
    say(console)
    console.print(view.legend(classed, colour=colour))
    say(console)
    say(console, view.bos_line(encoded))
    if view.has_split_characters(encoded):
        say(console, f"{view.SAME_CHARACTER} is one more token of the character before it")
    if classed.classes.policy == "proportional":
        say(console, "Policy proportional: a token is shown in the class that has most of it")
    for remark in view.remarks(classed):
        warn(remark)
