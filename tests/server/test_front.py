"""What stands before the application: who is told that the process stops, and whose figures are shown."""

import httpx
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from server.front import Front


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the path, as what stands behind."""
    await PlainTextResponse(Request(scope).url.path)(scope, receive, send)


def asking(front: Front) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(front), base_url="http://arena")


async def test_readiness_ends_when_the_process_stops() -> None:
    front = Front(application)
    async with asking(front) as http:
        assert not front.watched
        assert (await http.get("/readyz?own")).text == "/readyz"
        assert not front.watched
        assert (await http.get("/readyz")).text == "/readyz"
        assert front.watched
        front.stopping = True
        response = await http.get("/readyz")
        assert (response.status_code, response.json()) == (503, {"status": "draining"})
        assert (await http.get("/readyz?own")).status_code == 503
        assert (await http.get("/healthz")).text == "/healthz"


async def test_metrics_are_those_of_all_where_there_are_others() -> None:
    texts: list[bytes | None] = [b"of all", None]

    async def figures() -> bytes | None:
        return texts.pop(0)

    async with asking(Front(application, figures)) as http:
        response = await http.get("/metrics")
        assert response.text == "of all"
        assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert (await http.get("/metrics?own")).text == "/metrics"
        # What cannot be had of all is shown of one.
        assert (await http.get("/metrics")).text == "/metrics"
    async with asking(Front(application)) as http:
        assert (await http.get("/metrics")).text == "/metrics"
