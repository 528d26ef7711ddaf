"""A command with its options ⇄ a study file (TOML), so that anything can be run again.

    command = "shares"
    models = ["smollm2", "Phys=smollm2-phys"]
    data = "prompts.jsonl"
    class = ["hash=#", "star=*"]

A field is an option of the command without its dashes, so a file can say whatever the command line
can. Paths are relative to the file. Knows options, not what they mean.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mindshare.errors import OutputError, SelectionError, nearest

if TYPE_CHECKING:
    from mindshare.prompts import Prompt

STUDY, PROMPTS = "study.toml", "prompts.jsonl"
SOURCES = (
    *("text", "file", "chat", "data", "system", "marked", "limit"),
    *("format", "column", "where", "sample", "sample_seed", "bad_rows"),
)
_PATHS = ("file", "chat", "data")
# Where results go, and how much is said, is no part of a study.
_APART = ("out", "replace", "quiet", "progress", "save_study", "help")


def study_files(
    command: Any, values: Mapping[str, Any], prompts: Sequence[Prompt]
) -> dict[str, str]:
    """The study file of a command as it was called, and its prompts as a file beside it."""
    fields: dict[str, Any] = {"command": command.name}
    for parameter in command.params:
        value = values.get(parameter.name)
        if parameter.name in (*_APART, *SOURCES) or value in (None, [], ()):
            continue
        if value != parameter.default:
            fields[field_of(parameter)] = value
    fields["data"] = PROMPTS
    lines = (json.dumps(_row(prompt), ensure_ascii=False) + "\n" for prompt in prompts)
    return {STUDY: _toml(fields), PROMPTS: "".join(lines)}


def field_of(parameter: Any) -> str:
    """`--drop-first` → `drop-first`; an argument by its name."""
    name: str = parameter.opts[0].lstrip("-")
    return name


def read_study(path: Path, commands: Mapping[str, Any]) -> list[str]:
    """The arguments of the command line that a study file stands for."""
    fields = _parsed(path)
    name = fields.pop("command", None)
    if name not in commands:
        raise _no_command(name, fields, path, commands)
    known = {field_of(parameter): parameter for parameter in commands[name].params}
    known = {field: one for field, one in known.items() if one.name not in _APART}
    arguments = [name]
    for field, value in fields.items():
        if field not in known:
            raise SelectionError(
                f"{name} has no field {field!r}{nearest(field, known)}",
                where=f"{path}, field {field}",
                allowed=", ".join(known),
            )
        arguments += _arguments(known[field], value, path)
    return arguments


def _no_command(
    name: object, others: Iterable[str], path: Path, commands: Iterable[str]
) -> SelectionError:
    if name:
        what = f"command is {name!r}{nearest(str(name), commands)}"
    else:
        close = [one for one in others if nearest(one, ["command"])]
        said = f"; did you mean it by {close[0]!r}?" if close else ""
        what = f"there is no command{said}"
    where, allowed = f"{path}, field command", ", ".join(commands)
    return SelectionError(what, where=where, allowed=allowed)


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SelectionError(
            f"the study file can't be read: {error.strerror}", where=str(path)
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SelectionError(
            f"this is not TOML: {error}",
            where=str(path),
            allowed='lines such as command = "shares"',
        ) from None


def _arguments(parameter: Any, value: Any, path: Path) -> Iterator[str]:
    """One field as words of a command line."""
    field, flag = field_of(parameter), parameter.opts[0]
    words = [_word(one, parameter, path) for one in (value if isinstance(value, list) else [value])]
    if isinstance(value, dict) or not words:
        raise _unreadable(field, value, path, "a text, a number, true or false, or a list of these")
    if not flag.startswith("-"):
        yield from words
    elif getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise _unreadable(field, value, path, "true or false")
        yield from [flag] if value else []
    elif parameter.multiple:
        for word in words:
            yield from (flag, word)
    else:  # 0, 17, 21 of one option
        yield from (flag, ",".join(words))


def _word(value: Any, parameter: Any, path: Path) -> str:
    if isinstance(value, dict | list):
        raise _unreadable(field_of(parameter), value, path, "a text or a number")
    if not parameter.opts[0].startswith("-") and not isinstance(value, str):
        raise _unreadable(field_of(parameter), value, path, "names of models, as texts")
    if parameter.name in _PATHS and isinstance(value, str) and not _no_path(value):
        return str(path.parent / value)
    return str(value)


def _no_path(value: str) -> bool:
    """Standard input, or a dataset of the hub."""
    return value == "-" or value.startswith("hf:")


def _unreadable(field: str, value: Any, path: Path, allowed: str) -> SelectionError:
    return SelectionError(f"{field} is {value!r}", where=f"{path}, field {field}", allowed=allowed)


def write_study(path: Path, files: Mapping[str, str], *, replace: bool) -> None:
    """The study file, and its prompts under a name of their own beside it."""
    from mindshare.cli.screen import say, stdout

    beside = path.with_suffix(".prompts.jsonl")
    content = {
        path: files[STUDY].replace(f'"{PROMPTS}"', json.dumps(beside.name)),
        beside: files[PROMPTS],
    }
    for file in content:
        if file.exists() and not replace:
            raise OutputError(f"{file} exists already", next_step="add --replace, or another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for file, text in content.items():
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"can't write {path}: {error.strerror}") from error
    say(stdout(), f"The study: {path} and {beside.name}; run it with: mindshare run {path}")


def _toml(fields: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {_value(value)}\n" for name, value in fields.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _row(prompt: Prompt) -> dict[str, Any]:
    row: dict[str, Any] = {"id": prompt.id}
    if prompt.messages is None:
        row["text"] = prompt.text
    else:
        row["messages"] = [{"role": m.role, "content": m.content} for m in prompt.messages]
    if prompt.spans:
        row["spans"] = {
            name: [list(one) for one in ranges] for name, ranges in prompt.spans.items()
        }
    beside = {"group": prompt.group, "answer": prompt.answer}
    return row | {name: value for name, value in beside.items() if value is not None}
