"""Option groups ⇄ a command line ⇄ a study file: an option is declared once, as a field.

    class LookOptions(Group, panel="How it looks"):
        palette: str = option("seed", "seed or safe.")

    @command(SourceOptions, ChartOptions, LookOptions)
    def shares(options: ChartOptions) -> None: ...

Typer sees one parameter per field. A study file (TOML) names the same fields without their dashes,

    command = "shares"
    models = ["smollm2", "Phys=smollm2-phys"]
    data = "prompts.jsonl"
    class = ["hash=#", "star=*"]

builds the same options and calls the same function, so a value from a file is never read as an
option. It can say what the command line can, except where results go, where models run and whose
code is trusted. Its paths are relative to it. This module knows no option by name.
"""

from __future__ import annotations

import inspect
import json
import os
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Self,
    dataclass_transform,
    get_args,
    get_origin,
)

import typer

from mindshare.errors import OutputError, SelectionError, nearest
from mindshare.limits import read_whole

if TYPE_CHECKING:
    from mindshare.prompts import Prompt

REQUIRED = ...
STUDY, PROMPTS = "study.toml", "prompts.jsonl"
_METAVARS: dict[Any, str] = {int: "N", str: "WORD", Path: "FILE"}
_ALLOWED = {
    bool: "true or false",
    int: "a whole number",
    str: "a text or a number",
    Path: "a path, as a text",
}


@dataclass(frozen=True)
class Option:
    """How one field of a group is written, on a command line and in a study file.

    Its role says what becomes of it:
        keyword   a keyword of the function behind the command, unless it has its default
        command   used by the command itself, such as how models are loaded
        trust     the same, but no study file may say it
        prompts   where prompts come from: a saved study has them beside it
        apart     decides no number: no part of a study, nor of the command in a manifest
    """

    default: Any
    help: str
    metavar: str | None = None  # by its type, if none is given
    min: int | None = None
    flags: tuple[str, ...] = ()  # made from the field's name, if none are given
    argument: bool = False  # a positional argument, which has no flag
    panel: str | None = None  # of the help; None: the group's
    role: str | None = None  # None: the group's
    path: bool = False  # relative to the study file it stands in
    keyword: str | None = None  # None: the name of the field
    parse: Callable[[Any, str], Any] | None = None  # (value, flag) → the keyword's value
    # Filled in by `Group`.
    name: str = ""
    type: Any = None  # str, int, bool or Path
    several: bool = False  # a tuple of them: the option is repeatable

    @property
    def key(self) -> str:
        """`drop-first`: its name in a study file."""
        return self.flags[0].lstrip("-") if self.flags else self.name

    def parameter(self) -> inspect.Parameter:
        """What typer makes a command's parameter of."""
        look: dict[str, Any] = {"metavar": self.metavar, "help": self.help}
        look["show_default"] = self.default not in (None, (), REQUIRED)
        if self.argument:
            info: Any = typer.Argument(**look)
        else:
            info = typer.Option(*self.flags, **look, rich_help_panel=self.panel, min=self.min)
        kind = list[self.type] if self.several else self.type  # type: ignore[name-defined]
        if self.default in (None, ()):
            kind = kind | None
        default = {REQUIRED: inspect.Parameter.empty, (): None}.get(self.default, self.default)
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[kind, info],
        )

    def words(self, value: Any) -> list[str]:
        """The words of a command line that give this value; none for the default."""
        if value == self.default:
            return []
        if self.type is bool:
            return [self.flags[0]]
        values = value if self.several else (value,)
        return [word for part in values for word in (*self.flags[:1], str(part))]

    def read(self, value: Any, file: Path) -> Any:
        """A value of a study file, checked, as the field's own type."""
        where = f"{file}, field {self.key}"
        if self.role == "trust":
            raise SelectionError(
                f"{self.key} stands in a study file: trust is given on the command line only",
                where=where,
                next_step=f"take the line out, and add {self.flags[0]} to the command if you "
                "trust it",
            )
        parts = value if isinstance(value, list) else [value]
        # A text may be several, with commas between them: layers = [0, 5]
        list_allowed = self.several or (self.type is str and not self.path)
        if not parts or not all(map(self._fits, parts)) or (parts is value and not list_allowed):
            allowed = "names of models, as texts" if self.argument else _ALLOWED[self.type]
            allowed += "" if self.min is None else f" from {self.min}"
            allowed += ", or a list of these" if list_allowed else ""
            raise SelectionError(f"{self.key} is {value!r}", where=where, allowed=allowed)
        if self.type in (int, bool):
            return value
        texts = [str(part) for part in parts]
        if self.path:
            texts = [self._beside(text, file.parent) for text in texts]
        return tuple(texts) if self.several else self.type(",".join(texts))

    def _beside(self, text: str, folder: Path) -> str:
        """A path of a study file; standard input and datasets of the hub are none."""
        from mindshare.api.candidates import named

        if text == "-" or text.startswith("hf:"):
            return text
        label, path = named(text, folder) if self.several else (None, text)  # several have names
        return f"{label}={folder / path}" if label else str(folder / path)

    def _fits(self, part: Any) -> bool:
        if self.type is bool or isinstance(part, bool):
            return self.type is bool and isinstance(part, bool)
        if self.type is int:
            return isinstance(part, int) and (self.min is None or part >= self.min)
        return isinstance(part, str) if self.argument else isinstance(part, str | int | float)


def option(default: Any, help: str, **rest: Any) -> Any:
    """A field that is an option; `rest` are fields of `Option`. Several groups may share one."""
    return Option(default, help, **rest)


def argument(metavar: str, help: str, *, default: Any = REQUIRED) -> Any:
    """A field that is a positional argument, required unless it has a default."""
    return Option(default, help, metavar, argument=True, role="command")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, argument))
class Group:
    """Options that belong together, with a value for each; its fields are their declaration.

    `panel` and `role` are said of all options at once. A class that builds on others has their
    options first. (No dataclass: 35 of them took 20 ms of every help.)
    """

    options: ClassVar[dict[str, Option]] = {}  # by the names of their fields
    command: ClassVar[str] = ""  # of those that a command takes, its name

    def __init_subclass__(cls, *, panel: str | None = None, role: str = "keyword") -> None:
        inherited = [getattr(base, "options", {}) for base in cls.__bases__]
        cls.options = {name: one for options in inherited for name, one in options.items()}
        for name, annotation in inspect.get_annotations(cls, eval_str=True).items():
            one: Option = vars(cls)[name]
            kind, several = _type(annotation)
            flags = () if one.argument else ("--" + name.rstrip("_").replace("_", "-"),)
            cls.options[name] = replace(
                one,
                name=name,
                type=kind,
                several=several,
                metavar=one.metavar or _METAVARS.get(kind),
                flags=one.flags or flags,
                panel=one.panel or panel,
                role=one.role or role,
            )
            setattr(cls, name, one.default)

    def __init__(self, **values: Any) -> None:
        vars(self).update({name: one.default for name, one in self.options.items()} | values)

    def having(self, **values: Any) -> Self:
        """The same options, some with other values."""
        return type(self)(**vars(self) | values)

    def keywords(self) -> dict[str, Any]:
        """What was chosen, as keywords of the function behind the command."""
        chosen = {}
        for name, one in self.options.items():
            value = getattr(self, name)
            if one.role == "keyword" and value != one.default:
                parsed = value if one.parse is None else one.parse(value, one.flags[0])
                chosen[one.keyword or name] = parsed
        return chosen

    def deciding(self) -> list[tuple[Option, Any]]:
        """What decides the numbers, with its value; models first."""
        every = [(one, getattr(self, name)) for name, one in self.options.items()]
        decides = [(one, value) for one, value in every if one.role != "apart"]
        return sorted(decides, key=lambda pair: not pair[0].argument)

    def line(self) -> str:
        """The command as it can be typed again; where results go is left out."""
        arguments = [w for one, v in self.deciding() if one.argument for w in one.words(v)]
        options = [w for one, v in self.deciding() if not one.argument for w in one.words(v)]
        if any(word.startswith("-") for word in arguments):  # a model that looks like an option
            return shlex.join(["mindshare", self.command, *options, "--", *arguments])
        return shlex.join(["mindshare", self.command, *arguments, *options])


def _type(annotation: Any) -> tuple[Any, bool]:
    """`int | None` → int, one; `tuple[str, ...]` → str, several."""
    if isinstance(annotation, UnionType):
        (annotation,) = (part for part in get_args(annotation) if part is not type(None))
    several = get_origin(annotation) is tuple
    return (get_args(annotation)[0] if several else annotation), several


class Command:
    """A function of options, in the shape that typer takes: one parameter per option."""

    def __init__(self, function: Callable[[Any], None], groups: tuple[type[Group], ...]) -> None:
        self.function, self.__doc__ = function, function.__doc__
        self.__name__, self.__module__ = function.__name__, function.__module__
        self.name = function.__name__.replace("_", "-")
        self.kind: type[Group] = type(self.name, groups, {"command": self.name})

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """Made when it is asked for: of one command, or for the help of one."""
        return inspect.Signature([one.parameter() for one in self.kind.options.values()])

    @cached_property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        return {name: one.annotation for name, one in self.__signature__.parameters.items()}

    def __call__(self, **values: Any) -> None:
        """As typer calls it: one value per parameter, a list or nothing where several may be."""
        given = {
            name: tuple(values[name] or ()) if one.several else values[name]
            for name, one in self.kind.options.items()
        }
        self.function(self.kind(**given))


def command(*groups: type[Group]) -> Callable[[Callable[[Any], None]], Command]:
    """A decorator: the function gets the options of all these groups as one object."""
    return lambda function: Command(function, groups)


# ── study files ───────────────────────────────────────────────────────────────────────────────────


def study_files(
    options: Group, prompts: Iterable[Prompt], *, study: str = STUDY, data: str = PROMPTS
) -> dict[str, str | Iterable[str]]:
    """The study file of a command, and its prompts as a file beside it: texts by file name.

    The prompts are lines that are made while they are written, once: there may be a million.
    """
    values = {
        one.key: value
        for one, value in options.deciding()
        if not (one.role in ("prompts", "trust") or value == one.default)
    }
    content = {"command": options.command, **values, "data": data}
    rows = (json.dumps(_row(prompt), ensure_ascii=False) + "\n" for prompt in prompts)
    return {
        study: "".join(f"{key} = {_toml(value)}\n" for key, value in content.items()),
        data: rows,
    }


def write_study(path: Path, options: Group, prompts: Iterable[Prompt], *, replace: bool) -> None:
    """The study file, and its prompts under a name of their own beside it."""
    from mindshare.cli.screen import say_lines
    from mindshare.folders import write_texts

    data = path.with_suffix(".prompts.jsonl").name
    files = study_files(options, prompts, study=path.name, data=data)
    for file in (path.with_name(name) for name in files):
        if os.path.exists(file) and not replace:
            raise OutputError(f"{file} exists already", next_step="add --replace, or another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_texts(path.parent, files)
    except OSError as error:
        raise OutputError(f"can't write {path}: {error.strerror}") from error
    say_lines([f"The study: {path} and {data}; run it with: mindshare run {path}"])


def read_study(path: Path, commands: Mapping[str, Command]) -> tuple[Command, Group]:
    """The command that a study file names, and the options it stands for."""
    try:
        content = tomllib.loads(read_whole(path).decode("utf-8-sig"))
    except OSError as error:
        what = f"the study file can't be read: {error.strerror}"
        raise SelectionError(what, where=str(path)) from None
    except ValueError as error:  # no TOML, no UTF-8, or a number of thousands of digits
        example = 'lines such as command = "shares"'
        raise SelectionError(
            f"this is not TOML: {error}", where=str(path), allowed=example
        ) from None
    except RecursionError:
        raise SelectionError("this TOML is nested too deeply", where=str(path)) from None
    name = content.pop("command", None)
    if not isinstance(name, str) or name not in commands:
        raise _no_command(name, content, path, commands)
    kind = commands[name].kind
    known = {one.key: one for one in kind.options.values() if one.role != "apart"}
    values = {}
    for key, value in content.items():
        if key not in known:
            raise SelectionError(
                f"{name} has no field {key!r}{nearest(key, known)}",
                where=f"{path}, field {key}",
                allowed=", ".join(key for key, one in known.items() if one.role != "trust"),
            )
        values[known[key].name] = known[key].read(value, path)
    for key, one in known.items():
        if one.default is REQUIRED and one.name not in values:
            example = _toml(["smollm2"] if one.several else "smollm2")
            raise SelectionError(
                f"{name} needs the field {key}, and there is none",
                where=str(path),
                next_step=f"add a line such as {key} = {example}",
            )
    return commands[name], kind(**values)


def _no_command(
    name: object, keys: Iterable[str], path: Path, commands: Iterable[str]
) -> SelectionError:
    what = f"command is {name!r}{nearest(str(name), commands)}"
    if not name:
        close = [key for key in keys if nearest(key, ["command"])]
        what = "there is no command" + (f"; did you mean it by {close[0]!r}?" if close else "")
    return SelectionError(what, where=f"{path}, field command", allowed=", ".join(commands))


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    # JSON escapes all that TOML wants escaped, but for DEL.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _row(prompt: Prompt) -> dict[str, Any]:
    row: dict[str, Any] = {"id": prompt.id}
    if prompt.messages is None:
        row["text"] = prompt.text
    else:
        row["messages"] = [{"role": m.role, "content": m.content} for m in prompt.messages]
    if prompt.spans:
        row["spans"] = {name: [list(r) for r in ranges] for name, ranges in prompt.spans.items()}
    optional = {"group": prompt.group, "answer": prompt.answer, "choices": prompt.choices}
    return row | {name: value for name, value in optional.items() if value is not None}
