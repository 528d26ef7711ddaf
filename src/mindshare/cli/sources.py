"""Where prompts come from: options of one text, file or chat, or of a dataset with its rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mindshare.cli.groups import Group, option
from mindshare.cli.screen import warn_of_some
from mindshare.errors import PromptError

if TYPE_CHECKING:
    from mindshare.prompts import Prompt
    from mindshare.study import PromptSource

SOURCE = "The prompt (exactly one source)"


class GivenSource(Group):
    """What every group has that says where prompts come from; the roles of its options say so."""

    @property
    def many(self) -> bool:
        """A dataset: what is measured of it is kept as it comes."""
        return False

    @property
    def skips(self) -> bool:
        """Whether what can't be measured is left out; by default it stops everything."""
        return False

    def prompts(self) -> PromptSource:
        """The prompts; rows of data that were left out are told."""
        raise NotImplementedError


class SourceOptions(GivenSource, panel=SOURCE, role="prompts"):
    """Where prompts come from. What is below `marked` goes with `data` only."""

    text: str | None = option(None, "This text.", metavar="TEXT")
    file: Path | None = option(None, "A text file.", path=True)
    chat: Path | None = option(None, "A JSON list of messages with role and content.", path=True)
    data: str | None = option(
        None,
        "One prompt per row: a text, JSON Lines, JSON, CSV, TSV or Parquet file (.gz too), a "
        "folder of them or of save_to_disk, hf:owner/name:split, or - for standard input.",
        metavar="WHERE",
        path=True,
    )
    marked: bool = option(False, "Read <<name>>…<</name>> in the text as marks of a span.")
    limit: int | None = option(
        None, "Only the first N prompts of --data (after --where and --sample).", min=1
    )
    format: str = option(
        "auto",
        "Of --data: text (one prompt per line), jsonl, json, csv, tsv or parquet; auto goes by "
        "the name, and takes standard input as jsonl.",
    )
    column: tuple[str, ...] = option(
        (),
        "Which column of --data is what, repeatable: prompt (or text, messages), spans, id, "
        "answer, choices, group; PART= for none. Rows of one group are resampled together. "
        "(default: columns of these names)",
        metavar="PART=COLUMN",
    )
    where: tuple[str, ...] = option(
        (),
        "Only rows such as 'level>=3', 'kind=map', 'kind!=map' or 'text~^Look'; repeatable, all"
        " must hold.",
        metavar="TEST",
    )
    sample: int | None = option(
        None,
        "Only N rows drawn at random of those that --where leaves, in the order of the data.",
        min=1,
    )
    sample_seed: int = option(
        0, "Of --sample: the same seed draws the same rows, and more rows add to them.", min=0
    )
    bad_rows: str = option(
        "stop",
        "A row that cannot be used stops everything, or is left out and reported.",
        metavar="stop|skip",
        role="command",  # which of them a model can't hold is known later
    )

    @property
    def many(self) -> bool:
        return self.data is not None

    @property
    def skips(self) -> bool:
        return self.bad_rows == "skip"  # other words are refused when the data are opened

    def prompts(self) -> PromptSource:
        self._require_one_source()
        if self.data is None:
            for name in ("format", "column", "where", "sample", "sample_seed", "bad_rows"):
                if getattr(self, name) != getattr(type(self), name):  # the class has the default
                    flag = "--" + name.replace("_", "-")
                    raise PromptError(f"{flag} goes with --data", next_step=f"leave {flag} out")
            return [self._one_prompt()]
        from mindshare.prompts import DataSource, parse_columns

        prompts = DataSource(
            self.data,
            format=self.format,
            columns=parse_columns(self.column),
            filters=self.where,
            sample=self.sample,
            sample_seed=self.sample_seed,
            limit=self.limit,
            bad_rows=self.bad_rows,
            marked=self.marked,
        ).open()
        prompts.counted()  # all of it is read once, so that nothing is measured of bad data
        warn_of_some(
            [f"left out: {reason} (in {place})" for place, reason in prompts.bad],
            f"{len(prompts.bad):,} bad rows left out in all; the first are above",
        )
        return prompts

    def _one_prompt(self) -> Prompt:
        from mindshare.prompts import Prompt, read_chat, read_text

        if self.chat is not None:
            return read_chat(self.chat, marked=self.marked)
        if self.file is not None:
            return read_text(self.file, marked=self.marked)
        return Prompt.from_text(self.text or "", marked=self.marked)

    def _require_one_source(self) -> None:
        names = ("text", "file", "chat", "data")
        flags = [f"--{name}" for name in names if getattr(self, name) is not None]
        if len(flags) != 1:
            what = f"{' and '.join(flags)} are given together" if flags else "no prompt is given"
            raise PromptError(what, allowed="exactly one of --text, --file, --chat, --data")


class PreviewSource(SourceOptions, panel=SOURCE, role="prompts"):
    """A few prompts, to look at."""

    limit: int = option(3, "Show the first N prompts of --data.", min=1)


class PartsSource(GivenSource, panel="The prompt, or several wordings of it", role="prompts"):
    """One prompt, or wordings of it that are compared."""

    text: tuple[str, ...] = option((), "This text; repeatable.", metavar="TEXT")
    file: tuple[str, ...] = option(
        (), "A text file; repeatable, NAME=PATH names it.", metavar="PATH", path=True
    )
    chat: tuple[str, ...] = option(
        (),
        "A JSON list of messages with role and content; repeatable, NAME=PATH names it.",
        metavar="PATH",
        path=True,
    )
    data: str | None = option(
        None, "Wordings as rows of a file, the name of each as its id.", metavar="WHERE", path=True
    )
    marked: bool = option(False, "Read <<name>>…<</name>> in the text as marks of a part.")

    def prompts(self) -> PromptSource:
        """The wordings; each has the name it is to be called by as its id."""
        from mindshare.prompts import DataSource, Prompt, read_chat, read_text

        files = [(read_text, given) for given in self.file]
        files += [(read_chat, given) for given in self.chat]
        if bool(self.data) == bool(self.text or files):
            both = "--data is given with another source"
            raise PromptError(
                both if self.data else "no prompt is given",
                allowed="--text, --file and --chat, several times; or --data alone",
            )
        if self.data is not None:
            prompts = DataSource(self.data, marked=self.marked).open()
            prompts.counted()
            return prompts
        wordings = [Prompt.from_text(text, marked=self.marked) for text in self.text]
        for read, given in files:
            label, path = _labelled(given)
            prompt = read(path, marked=self.marked)
            several = len(self.text) + len(files) > 1
            wordings.append(replace(prompt, id=label) if several else prompt)
        return wordings


def _labelled(given: str) -> tuple[str, Path]:
    """`A=a.json` → A and the path; without a name, that of the file."""
    from mindshare.api.candidates import named

    label, path = named(given)
    return label or Path(path).stem, Path(path)


class InsertSource(SourceOptions, panel=SOURCE, role="prompts"):
    """A question may have a system message before it."""

    text: str | None = option(
        None,
        "This text; with --system, the question.",
        metavar="TEXT",
        flags=("--text", "--prompt"),
    )
    system: str | None = option(
        None,
        "A system message before the text: both go through the model's chat template.",
        metavar="TEXT",
    )

    def _one_prompt(self) -> Prompt:
        from mindshare.prompts import Prompt

        if self.system is None:
            return super()._one_prompt()
        system = {"role": "system", "content": self.system}
        question = {"role": "user", "content": self.text or ""}
        return Prompt.from_chat([system, question], marked=self.marked)

    def _require_one_source(self) -> None:
        others = (self.file, self.chat, self.data)
        if self.system is not None and (self.text is None or any(others)):
            raise PromptError(
                "--system goes with --prompt", next_step="put the system message into the file"
            )
        super()._require_one_source()
