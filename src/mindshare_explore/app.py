"""The door of the explorer: HTTP in, JSON out. Computes nothing itself; see docs/explorer.md."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from mindshare import __version__
from mindshare.errors import MindshareError
from mindshare_explore import source as bodies
from mindshare_explore.jobs import QueuedJob, QueueFull, problem_of
from mindshare_explore.page import chart_json, static_file, zipped
from mindshare_explore.safety import Guard
from mindshare_explore.session import Explorer, NotFound

Layer = Annotated[int, Query(ge=-1, le=10_000, description="-1: the mean over the layers")]
Head = Annotated[int | None, Query(ge=0, le=10_000)]
Token = Annotated[int, Query(ge=0, le=10_000_000)]
Form = Annotated[Literal["json", "f32"], Query(description="f32: little-endian float32")]
NEEDED = {401: {"description": "no token"}, 422: {"description": "what is wrong, and what helps"}}


def create_app(explorer: Explorer, *, token: str, hosts: Iterable[str] | None = ()) -> Guard:
    """The whole server as one ASGI app; `hosts` as in `Guard`."""
    app = FastAPI(
        title="mindshare explorer",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # those pages load scripts from elsewhere
        redoc_url=None,
        responses=NEEDED,  # type: ignore[arg-type]
    )
    _pages(app)
    _asking(app, explorer)
    _measuring(app, explorer)
    _taking_away(app, explorer)
    _errors(app)
    return Guard(app, token=token, hosts=hosts)


def _pages(app: FastAPI) -> None:
    @app.get("/", include_in_schema=False)
    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str = "index.html") -> Response:
        found = static_file(name)
        if found is None:
            raise NotFound(f"there is no file {name!r}")
        return Response(found[0], media_type=found[1])


def _asking(app: FastAPI, explorer: Explorer) -> None:
    @app.get("/api/state")
    def state() -> dict[str, Any]:
        """Models, prompts, the registry of measures, limits."""
        return explorer.state()

    @app.post("/api/tokens")
    def tokens(body: bodies.TokensBody) -> dict[str, Any]:
        """A prompt as the model reads it, by class; nothing is measured."""
        return explorer.preview(body)

    @app.get("/api/prompts/{id}")
    def prompt(id: str) -> dict[str, Any]:
        """Tokens, layers, measures of heads, effects of knock-outs, and what can be asked."""
        return explorer.source(id).to_json()

    @app.post("/api/prompts/{id}/classes")
    def classes(id: str, body: bodies.QueriesBody) -> dict[str, Any]:
        """Every measure of these classes by layer and head, of all tokens or of one query."""
        return explorer.source(id).classes(body).to_json()

    @app.get("/api/prompts/{id}/received", response_model=None)
    def received(
        id: str, layer: Layer, head: Head = None, form: Form = "json"
    ) -> Response | dict[str, Any]:
        """What each token gets from those after it and itself, on average."""
        return _sent(explorer.source(id).profile(layer, head), form)

    @app.get("/api/prompts/{id}/{direction}", response_model=None)
    def line(
        id: str,
        direction: Literal["row", "column"],
        layer: Layer,
        token: Token,
        head: Head = None,
        lift: bool = False,
        form: Form = "json",
    ) -> Response | dict[str, Any]:
        """What one token looks at (row) or who looks at it (column), in a head or their mean."""
        source = explorer.source(id)
        source.check(layer, head)
        whole = source.line(layer, token, column=direction == "column", lift=lift)
        return _sent(whole.mean(0) if head is None else whole[head], form)

    @app.post("/api/compare")
    def compare(body: bodies.CompareBody) -> dict[str, Any]:
        """Which tokens of two prompts are the same ones."""
        return explorer.compare(body.a, body.b)


def _sent(values: np.ndarray, form: str) -> Response | dict[str, Any]:
    if form == "f32":
        content = np.asarray(values, "<f4").tobytes()
        return Response(content, media_type="application/octet-stream")
    return {"values": bodies.numbers(values)}


def _measuring(app: FastAPI, explorer: Explorer) -> None:
    """Jobs: their result is the id of a prompt."""

    def job_of(id_: str) -> QueuedJob:
        found = explorer.jobs.get(id_)
        if found is None:
            raise NotFound("there is no such job", next_step="list them: /api/jobs")
        return found

    @app.post("/api/measure", status_code=202)
    def measure(body: bodies.PromptBody) -> dict[str, Any]:
        """Measure a prompt: a job, whose result is the prompt's id."""
        return explorer.measure(body.model, body.prompt()).to_json()

    @app.post("/api/prompts/{id}/again", status_code=202)
    def again(id: str) -> dict[str, Any]:
        """Bring queries and keys back that were given up: a job."""
        return explorer.again(id).to_json()

    @app.post("/api/prompts/{id}/insert", status_code=202)
    def insert(id: str, body: bodies.InsertBody) -> dict[str, Any]:
        """Measure the prompt with a text put in at a character: a job."""
        return explorer.insert(id, body).to_json()

    @app.post("/api/prompts/{id}/in-model", status_code=202)
    def in_model(id: str, body: bodies.InModelBody) -> dict[str, Any]:
        """Measure the same prompt in another model: a job."""
        return explorer.again(id, model=body.model).to_json()

    @app.post("/api/prompts/{id}/effects", status_code=202)
    def effects(id: str, body: bodies.EffectBody) -> dict[str, Any]:
        """Hide a class from the last token: a job, after which the prompt has one more effect."""
        return explorer.knock_out(id, body).to_json()

    @app.get("/api/jobs")
    def jobs() -> list[dict[str, Any]]:
        """All jobs, the oldest first."""
        return [job.to_json() for job in explorer.jobs.all()]

    @app.get("/api/jobs/{id}")
    def job(id: str) -> dict[str, Any]:
        """How far a job is."""
        return job_of(id).to_json()

    @app.delete("/api/jobs/{id}")
    def cancel(id: str) -> dict[str, Any]:
        """Stop a job: a pass is left after the layer it is in."""
        found = job_of(id)
        found.cancel()
        return found.to_json()


def _taking_away(app: FastAPI, explorer: Explorer) -> None:
    @app.post("/api/prompts/{id}/chart")
    def chart(id: str, body: bodies.ChartBody, head: Head = None) -> dict[str, Any]:
        """Classes by layer as a report draws them: Vega-Lite, its definition and description."""
        sources = [explorer.source(one) for one in (id, body.against) if one is not None]
        for source in sources:
            source.check(source.layers[0], head)
        return chart_json(sources, body, head)

    @app.post("/api/prompts/{id}/recipe")
    def recipe(id: str, body: bodies.ClassesBody) -> dict[str, Any]:
        """The command line that makes the same numbers, and the files of its study."""
        command, texts = explorer.source(id).recipe(body)
        return {"command": command, "files": texts}

    @app.post("/api/prompts/{id}/bundle")
    def bundle(id: str, body: bodies.BundleBody) -> Response:
        """A page that needs no server: this prompt, its aggregates and pinned rows, as a ZIP."""
        name = {"content-disposition": 'attachment; filename="mindshare-explorer.zip"'}
        content = zipped(explorer, id, body)
        return Response(content, media_type="application/zip", headers=name)


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
