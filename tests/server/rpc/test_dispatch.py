import asyncio
import json

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from server.config import Limits
from server.rpc.dispatch import Dispatcher
from server.rpc.errors import Unavailable
from server.rpc.methods import Method, NoParams
from tests.server.rpc.cases import Json, well_formed
from tests.server.rpc.service import SECRET, Moved, Player, Service

PLAYER = Player(frozenset({"read", "play"}))
READER = Player(frozenset({"read"}))
METHODS = tuple(method.name for method in Service().methods())


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def dispatcher(service: Service) -> Dispatcher:
    return Dispatcher(service.methods(), Limits())


async def respond(dispatcher: Dispatcher, message: object, caller: Player | None = PLAYER) -> str | None:
    meter = dispatcher.meters.request("192.0.2.1")
    return await dispatcher.respond(json.dumps(message).encode(), caller, "192.0.2.1", meter)


async def ask(dispatcher: Dispatcher, message: Json, caller: Player | None = PLAYER) -> Json:
    text = await respond(dispatcher, message, caller)
    assert text is not None
    return json.loads(text)


def request(method: str, params: object = None, **members: object) -> Json:
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": [] if params is None else params,
        **members,
    }


async def kind(dispatcher: Dispatcher, message: Json, caller: Player | None = PLAYER) -> str:
    return (await ask(dispatcher, message, caller))["error"]["data"]["kind"]


@pytest.mark.parametrize(
    ("method", "params", "caller", "expected"),
    [
        # Each line has every fault of those below it in its block.
        ("nope", 3, None, "invalid_request"),
        ("nope", [], None, "method_not_found"),
        ("session.move", 3, None, "invalid_request"),
        ("session.move", [], None, "unauthenticated"),
        ("session.move", [], READER, "invalid_params"),
        ("session.move", ["s", "a-a", 0], READER, "forbidden"),
        ("session.move", ["s", "a-a", 0], PLAYER, "illegal_move"),
        ("session.get", ["none"], None, "unauthenticated"),
        ("session.get", ["none", 1], READER, "invalid_params"),
        ("session.get", ["none"], READER, "not_found"),
        ("session.get", ["s"], READER, "forbidden"),
        ("session.subscribe", ["s"], Player(frozenset()), "forbidden"),
        ("session.subscribe", ["s"], READER, "not_allowed"),
    ],
)
async def test_the_first_fault_is_answered(
    dispatcher: Dispatcher, method: str, params: object, caller: Player | None, expected: str
) -> None:
    assert await kind(dispatcher, request(method, params), caller) == expected


async def test_null_is_no_structure_for_params(dispatcher: Dispatcher) -> None:
    assert await kind(dispatcher, {"jsonrpc": "2.0", "id": 1, "method": "server.info", "params": None}) == (
        "invalid_request"
    )


async def test_the_details_of_an_error(dispatcher: Dispatcher) -> None:
    answer = await ask(dispatcher, request("session.move", ["s", "a-a", 7]))
    assert answer["error"]["data"] == {"kind": "illegal_move", "reason": "target_locked", "seq": 7}
    answer = await ask(dispatcher, request("games.describe", ["klondike", {"draw": "x"}]))
    assert answer["error"]["data"] == {"kind": "invalid_params", "path": "/options"}


@pytest.mark.parametrize("method", ["session.undo", "session.resign", "session.list"])
async def test_a_failure_tells_the_log_and_nobody_else(dispatcher: Dispatcher, method: str) -> None:
    with structlog.testing.capture_logs() as logs:
        answer = await ask(dispatcher, request(method))
    assert answer["error"]["code"] == -32603
    incident = answer["error"]["data"]["incident"]
    assert SECRET not in json.dumps(answer)
    assert [(line["incident"], line["method"], line["log_level"]) for line in logs] == [
        (incident, method, "error")
    ]
    assert isinstance(logs[0]["exc_info"], Exception)


async def test_a_future_that_fails(dispatcher: Dispatcher, service: Service) -> None:
    for outcome, expected in [(Unavailable(), "unavailable"), (OSError(SECRET), "internal_error")]:
        service.started.clear()
        asking = asyncio.create_task(kind(dispatcher, request("session.move", ["s", "draw", 0])))
        await service.started.wait()
        with structlog.testing.capture_logs():
            service.moves[-1].set_exception(outcome)
            assert await asking == expected


async def test_a_future_that_is_given_up_may_or_may_not_have_done_it(
    dispatcher: Dispatcher, service: Service
) -> None:
    asking = asyncio.create_task(kind(dispatcher, request("session.move", ["s", "draw", 0])))
    await service.started.wait()
    service.moves[0].cancel()
    assert await asking == "unavailable"


async def test_leaving_a_future_alone_does_not_cancel_it(dispatcher: Dispatcher, service: Service) -> None:
    asking = asyncio.create_task(respond(dispatcher, request("session.move", ["s", "draw", 0])))
    await service.started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not service.moves[0].cancelled()


@pytest.mark.parametrize("method", ["server.info", "nope", "session.undo", "session.resign"])
async def test_notifications_are_never_answered(dispatcher: Dispatcher, method: str) -> None:
    message = request(method)
    del message["id"]
    with structlog.testing.capture_logs():
        assert await respond(dispatcher, message) is None
        assert await respond(dispatcher, [message, message]) is None


async def test_what_is_no_valid_request_is_no_notification(dispatcher: Dispatcher) -> None:
    for method in ("server.info", "nope"):
        answer = await ask(dispatcher, {"jsonrpc": "2.0", "method": method, "params": 3})
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)


async def test_a_batch_is_carried_out_in_order(dispatcher: Dispatcher, service: Service) -> None:
    batch = [
        request("session.move", ["sync", "draw", 1], id="a"),
        {"jsonrpc": "2.0", "method": "session.move", "params": ["unanswered", "a-a", 0]},
        request("session.move", ["slow", "draw", 2], id="b"),
        {"id": 9},
        request("session.move", ["sync", "draw", 3], id="c"),
    ]
    asking = asyncio.create_task(respond(dispatcher, batch))
    await service.started.wait()
    assert service.seen == ["sync", "unanswered", "slow"]
    service.moves[0].set_result(Moved(3, []))
    answers: list[Json] = json.loads(await asking or "[]")
    assert service.seen == ["sync", "unanswered", "slow", "sync"]
    assert [answer["id"] for answer in answers] == ["a", "b", 9, "c"]
    assert [answer.get("result", {}).get("seq") for answer in answers] == [2, 3, None, 4]


async def test_calls_and_errors_are_counted_by_known_names_only(dispatcher: Dispatcher) -> None:
    with structlog.testing.capture_logs():
        for message in (
            request("server.info"),
            request("server.info", {"zz": 1}),
            request("no such method"),
            request("session.undo"),
            3,
        ):
            await respond(dispatcher, message)
    tally = dispatcher.tally
    assert tally.calls.keys() == set(METHODS)
    assert {name: count for name, count in tally.calls.items() if count} == {
        "server.info": 2,
        "session.undo": 1,
    }
    assert tally.errors == {
        ("server.info", "invalid_params"): 1,
        ("", "method_not_found"): 1,
        ("session.undo", "internal_error"): 1,
        ("", "invalid_request"): 1,
    }


def test_two_methods_of_one_name() -> None:
    info = Method("server.info", NoParams, dict[str, int], Service().info)
    with pytest.raises(ValueError, match=r"server\.info"):
        Dispatcher((info, info), Limits())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)
REQUEST = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "method": st.sampled_from(METHODS[:2]) | st.text(max_size=5) | JSON,
        "params": JSON | st.fixed_dictionaries({"game": st.just("klondike") | JSON}),
        "id": JSON,
    },
)


@given(
    st.binary(max_size=40)
    | st.text(max_size=40).map(str.encode)
    | (REQUEST | JSON | st.lists(REQUEST | JSON, max_size=40)).map(
        lambda message: json.dumps(message).encode()
    )
)
def test_any_bytes_get_a_well_formed_answer_or_none(body: bytes) -> None:
    dispatcher = Dispatcher(Service().methods(), Limits())
    text = asyncio.run(dispatcher.respond(body, None, "", dispatcher.meters.request("")))
    assert dispatcher.tally.errors.keys().isdisjoint((name, "internal_error") for name in METHODS)
    if text is None:
        assert json.loads(body)
        return
    answer: Json | list[Json] = json.loads(text)
    for one in answer if isinstance(answer, list) else [answer]:
        well_formed(one)
