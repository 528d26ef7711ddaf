"""The door of the explorer: HTTP in, JSON out. Computes nothing itself; see docs/explorer.md."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from mindshare import __version__
from mindshare.errors import MindshareError, SelectionError
from mindshare.measures import MEASURES
from mindshare_explore import shapes
from mindshare_explore.jobs import QueuedJob, QueueFull, problem_of
from mindshare_explore.safety import Guard
from mindshare_explore.session import MOST_TOKENS, Explorer, NotFound
from mindshare_explore.source import PALETTE, ExplorerSource, check_head, described
from mindshare_explore.vega import vega

STATIC = files("mindshare_explore") / "static"
_KINDS = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
_LEVELS = ("class", "head", "key", "response")

Layer = Annotated[int, Query(ge=0, le=10_000)]
Head = Annotated[int | None, Query(ge=0, le=10_000)]
Token = Annotated[int, Query(ge=0, le=10_000_000)]
Form = Annotated[Literal["json", "f32"], Query(description="f32: little-endian float32")]
NEEDED = {401: {"description": "no token"}, 422: {"description": "what is wrong, and what helps"}}


def create_app(explorer: Explorer, *, token: str, hosts: Iterable[str] = ()) -> Guard:
    """The whole server as one ASGI app."""
    app = FastAPI(
        title="mindshare explorer",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # those pages load scripts from elsewhere
        redoc_url=None,
        responses=NEEDED,  # type: ignore[arg-type]
    )
    _pages(app)
    _prompts(app, explorer)
    _looking(app, explorer)
    _taking_away(app, explorer)
    _errors(app)
    return Guard(app, token=token, hosts=hosts)


def _pages(app: FastAPI) -> None:
    names = {one.name for one in STATIC.iterdir() if one.name.rpartition(".")[2] in _KINDS}

    @app.get("/", include_in_schema=False)
    def page() -> Response:
        return Response((STATIC / "index.html").read_bytes(), media_type="text/html")

    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        if name == "vega.js":
            return Response(vega(), media_type="text/javascript")
        if name not in names:
            raise NotFound(f"there is no file {name!r}")
        kind = _KINDS[name.rpartition(".")[2]]
        return Response((STATIC / name).read_bytes(), media_type=kind)


def state(explorer: Explorer) -> dict[str, Any]:
    """What there is: models, prompts, measures, limits."""
    return {
        "version": __version__,
        "models": [{"label": one.label, "ready": one.ready} for one in explorer.models.values()],
        "prompts": explorer.listed(),
        "measures": [
            {
                "name": one.name,
                "title": one.title,
                "level": one.level,
                "definition": one.definition,
                "short": one.short,
                "latex": one.latex,
                "unit": one.unit,
                "neutral": one.neutral,
                "scale": one.scale,
            }
            for one in MEASURES.values()
            if one.level in _LEVELS
        ],
        "palette": {
            "low_to_high": PALETTE.low_to_high,
            "minus_to_plus": PALETTE.minus_to_plus,
        },
        "limits": {"tokens": MOST_TOKENS, "characters": shapes.MOST_CHARACTERS},
        "kept_bytes": explorer.kept_bytes,
    }


def _prompts(app: FastAPI, explorer: Explorer) -> None:
    @app.get("/api/state")
    def get_state() -> dict[str, Any]:
        """Models, prompts, the registry of measures, limits."""
        return state(explorer)

    @app.post("/api/tokens")
    def tokens(body: shapes.TokensBody) -> dict[str, Any]:
        """A prompt as the model reads it, by class; nothing is measured."""
        return explorer.preview(body)

    @app.post("/api/measure", status_code=202)
    def measure(body: shapes.PromptBody) -> dict[str, Any]:
        """Measure a prompt: a job, whose result is the prompt's id."""
        return explorer.measure(body).to_json()

    @app.get("/api/jobs")
    def jobs() -> list[dict[str, Any]]:
        """All jobs, the oldest first."""
        return [job.to_json() for job in explorer.jobs.all()]

    @app.get("/api/jobs/{id}")
    def job(id: str) -> dict[str, Any]:
        """How far a job is."""
        return _job(explorer, id).to_json()

    @app.delete("/api/jobs/{id}")
    def cancel(id: str) -> dict[str, Any]:
        """Stop a job: a pass is left after the layer it is in."""
        found = _job(explorer, id)
        found.cancel()
        return found.to_json()


def _job(explorer: Explorer, id_: str) -> QueuedJob:
    found = explorer.jobs.get(id_)
    if found is None:
        raise NotFound("there is no such job", next_step="list them: /api/jobs")
    return found


def _looking(app: FastAPI, explorer: Explorer) -> None:
    @app.get("/api/prompts/{id}")
    def prompt(id: str) -> dict[str, Any]:
        """Tokens, layers, measures of heads, and what can be asked."""
        return described(explorer.source(id))

    @app.post("/api/prompts/{id}/again", status_code=202)
    def again(id: str) -> dict[str, Any]:
        """Bring queries and keys back that were given up: a job."""
        return explorer.again(id).to_json()

    @app.post("/api/prompts/{id}/insert", status_code=202)
    def insert(id: str, body: shapes.InsertBody) -> dict[str, Any]:
        """Measure the prompt with a text put in at a character: a job."""
        return explorer.insert(id, body).to_json()

    @app.post("/api/prompts/{id}/in-model", status_code=202)
    def in_model(id: str, body: shapes.InModelBody) -> dict[str, Any]:
        """Measure the same prompt in another model: a job."""
        return explorer.again(id, model=body.model).to_json()

    @app.post("/api/prompts/{id}/classes")
    def classes(id: str, body: shapes.QueriesBody) -> dict[str, Any]:
        """Every measure of these classes by layer and head, of all tokens or of one query."""
        return explorer.source(id).classes(body).to_json()

    @app.get("/api/prompts/{id}/row", response_model=None)
    def row(
        id: str,
        layer: Layer,
        token: Token,
        head: Head = None,
        lift: bool = False,
        form: Form = "json",
    ) -> Response | dict[str, Any]:
        """What one token looks at, in a head or in their mean."""
        return _line(explorer.source(id), (layer, head, token), form, lift=lift, column=False)

    @app.get("/api/prompts/{id}/column", response_model=None)
    def column(
        id: str,
        layer: Layer,
        token: Token,
        head: Head = None,
        lift: bool = False,
        form: Form = "json",
    ) -> Response | dict[str, Any]:
        """Who looks at one token."""
        return _line(explorer.source(id), (layer, head, token), form, lift=lift, column=True)

    @app.get("/api/prompts/{id}/received", response_model=None)
    def received(
        id: str, layer: Layer, head: Head = None, form: Form = "json"
    ) -> Response | dict[str, Any]:
        """What each token gets from those after it and itself, on average."""
        return _sent(explorer.source(id).profile(layer, head), form)

    @app.get("/api/prompts/{id}/by-head", response_model=None)
    def by_head(id: str, layer: Layer, token: Token, key: Token) -> dict[str, Any]:
        """One weight A[token, key] in every head of a layer."""
        whole = explorer.source(id).line(layer, token, column=False)
        if not 0 <= key < whole.shape[1]:
            raise SelectionError(f"there is no token {key} here")
        return {"values": shapes.numbers(whole[:, key])}

    @app.post("/api/compare")
    def compare(body: shapes.CompareBody) -> dict[str, Any]:
        """Which tokens of two prompts are the same ones."""
        a, b = explorer.source(body.a), explorer.source(body.b)
        if not (a.capabilities()["rows"] and b.capabilities()["rows"]):
            same = a.layers == b.layers and a.heads_known == b.heads_known
            return {"kind": "classes", "heads": same, "pairs": None, "parts": None}
        from mindshare_explore.versions import compared

        return compared(explorer, a, b)  # type: ignore[arg-type]


def _line(
    source: ExplorerSource,
    where: tuple[int, int | None, int],
    form: str,
    *,
    lift: bool,
    column: bool,
) -> Response | dict[str, Any]:
    layer, head, token = where
    check_head(head, source.heads_known)
    whole = (source.lifted if lift else source.line)(layer, token, column=column)
    return _sent(whole.mean(0) if head is None else whole[head], form)


def _sent(values: np.ndarray, form: str) -> Response | dict[str, Any]:
    if form == "f32":
        content = np.asarray(values, "<f4").tobytes()
        return Response(content, media_type="application/octet-stream")
    return {"values": shapes.numbers(values)}


def _taking_away(app: FastAPI, explorer: Explorer) -> None:
    @app.post("/api/prompts/{id}/chart")
    def chart(id: str, body: shapes.ChartBody, head: Head = None) -> dict[str, Any]:
        """Classes by layer as a report draws them: Vega-Lite, its definition and description."""
        from mindshare_explore.charts import class_chart

        sources = [explorer.source(one) for one in (id, body.against) if one is not None]
        for source in sources:
            check_head(head, source.heads_known)
        figure = class_chart(sources, body, head=head)
        texts = {"definition": figure.definition, "description": figure.description}
        return {"spec": figure.spec, "title": figure.title, **texts}

    @app.post("/api/prompts/{id}/recipe")
    def recipe(id: str, body: shapes.ClassesBody) -> dict[str, Any]:
        """The command line that makes the same numbers, and the files of its study."""
        command, texts = explorer.source(id).recipe(body)
        return {"command": command, "files": texts}

    @app.post("/api/prompts/{id}/bundle")
    def bundle(id: str, body: shapes.BundleBody) -> Response:
        """A page that needs no server: this prompt, its aggregates and pinned rows, as a ZIP."""
        from mindshare_explore.bundle import zipped

        name = 'attachment; filename="mindshare-explorer.zip"'
        content = zipped(explorer, id, body)
        return Response(
            content, media_type="application/zip", headers={"content-disposition": name}
        )


def _errors(app: FastAPI) -> None:
    def answer(status: int, error: MindshareError) -> JSONResponse:
        return JSONResponse({"problem": problem_of(error)}, status_code=status)

    @app.exception_handler(MindshareError)
    def refused(_request: Request, error: MindshareError) -> JSONResponse:
        from mindshare_explore.live import NotKept

        kinds = ((NotFound, 404), (NotKept, 409), (QueueFull, 429))
        return answer(next((code for kind, code in kinds if isinstance(error, kind)), 422), error)

    @app.exception_handler(RequestValidationError)
    def invalid(_request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]  # what was sent is not sent back
        where = ".".join(str(part) for part in first["loc"])[:200]
        return answer(422, MindshareError(str(first["msg"])[:300], where=where))

    @app.exception_handler(HTTPException)
    def http(_request: Request, error: HTTPException) -> JSONResponse:
        return answer(error.status_code, MindshareError(str(error.detail)))
