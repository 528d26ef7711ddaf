"""What the door takes and gives, as the OpenAPI document describes it; every size is bounded."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

MOST_CHARACTERS = 400_000  # of one prompt
MOST_MESSAGES = 200
MOST_CLASSES = 7  # that the palette tells apart
MOST_RANGES = 1_000  # of one painted class

Name = Annotated[str, Field(max_length=40)]
Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Position = Annotated[int, Field(ge=0, le=10_000_000)]
Range = Annotated[list[Position], Field(min_length=2, max_length=2)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class MessageBody(Body):
    role: Name
    content: Text


class PromptBody(Body):
    """A text or a chat, as a model reads it."""

    model: Annotated[str, Field(max_length=500)]
    text: Text | None = None
    messages: Annotated[list[MessageBody], Field(max_length=MOST_MESSAGES)] | None = None
    marked: bool = False  # <<name>>…<</name>> in the text are marks of spans


class ClassBody(Body):
    name: Name
    rule: Annotated[str, Field(max_length=500)]


class ClassesBody(Body):
    """Rules in order, the first that matches wins; `spans` are painted, in characters."""

    classes: Annotated[list[ClassBody], Field(max_length=MOST_CLASSES)] = []
    spans: Annotated[
        dict[Name, Annotated[list[Range], Field(max_length=MOST_RANGES)]], Field(max_length=50)
    ] = {}
    policy: Literal["priority", "pure", "proportional"] = "priority"


class TokensBody(PromptBody, ClassesBody):
    """A prompt before it is measured."""


class QueriesBody(ClassesBody):
    """Classes of a measured prompt, seen by all of its tokens or by one."""

    token: Position | None = None


class InsertBody(Body):
    at: Position  # a character of the text that the model reads
    text: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]


class InModelBody(Body):
    model: Annotated[str, Field(max_length=500)]


class CompareBody(Body):
    a: Name
    b: Name


class ChartBody(QueriesBody):
    """The chart of a report: classes by layer."""

    measure: Literal["mass", "share", "density", "expected", "lift"] = "mass"
    against: Name | None = None  # another prompt or model, drawn beside it


class BundleBody(Body):
    """What a bundle keeps beside the aggregates: pinned rows and columns, as [layer, token]."""

    pins: Annotated[list[Range], Field(max_length=50)] = []
    view: Annotated[str, Field(max_length=20_000)] = ""  # the page's state
    classes: ClassesBody = ClassesBody()
    against: Name | None = None


def numbers(values: np.ndarray, digits: int = 7) -> Any:
    """An array as nested lists with so many significant digits; null where there is none."""
    if values.ndim > 1:
        return [numbers(one, digits) for one in values]
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist()
    ]
