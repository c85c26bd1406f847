"""OpenEnv's own client, over websockets on the loopback, against our server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import httpx
import numpy as np
import pytest
import uvicorn
from markdown_code import ROOT, code_below
from openenv import GenericEnvClient

from srd_agents.integrations.openenv import CoverageEnvironment, ListAction, coverage_app
from srd_agents.llm.rewards import CoverageReward
from srd_gym import load_topics

REWARD = CoverageReward(load_topics("words"))
IDS = REWARD.topics.query_ids
SPLITS = {"train": IDS[:30], "test": IDS[30:]}


def served(app: object) -> Iterator[str]:
    """The address of a server on a free port."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=10)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    yield from served(coverage_app(REWARD, splits=SPLITS))


@pytest.fixture(scope="module")
def stepwise() -> Iterator[str]:
    yield from served(coverage_app(REWARD, stepwise=True, max_sessions=2))


def answers(seed: int, count: int) -> list[tuple[str, str]]:
    """Queries and answers, each another."""
    rng = np.random.default_rng(seed)
    lists = [rng.integers(0, 22, size=5).tolist() for _ in range(count)]
    return [(IDS[int(rng.integers(len(IDS)))], " > ".join(f"[{number}]" for number in each)) for each in lists]


def test_200_episodes_of_8_connections_at_once_are_not_mixed(address: str) -> None:
    async def play(seed: int) -> list[tuple[float, float]]:
        found = []
        async with GenericEnvClient(base_url=address) as client:
            for number, (query, answer) in enumerate(answers(seed, 25)):
                begun = await client.reset(query_id=query, episode_id=f"{seed}-{number}")
                assert begun.observation["prompt"] == REWARD.ask(query)
                assert not begun.done
                await asyncio.sleep(0)
                result = await client.step({"answer": answer})
                assert result.done
                state = await client.state()
                assert (state["query_id"], state["episode_id"]) == (query, f"{seed}-{number}")
                assert state["ranks"] == [place + 1 for place in REWARD.read(query, answer)[0].tolist()]
                found.append((result.reward, REWARD.score(query, answer)))
        return found

    async def all_at_once() -> list[list[tuple[float, float]]]:
        return await asyncio.gather(*map(play, range(8)))

    pairs = [pair for found in asyncio.run(all_at_once()) for pair in found]
    assert len(pairs) == 200
    np.testing.assert_allclose(*np.transpose(pairs), rtol=0, atol=1e-12)


def test_a_stepwise_episode_pays_gains(stepwise: str) -> None:
    async def play() -> None:
        async with GenericEnvClient(base_url=stepwise) as client:
            await client.reset(query_id="jaguar")
            rewards = []
            for answer in ("[3]", "8", "I take [3]", "[1]", "99"):
                result = await client.step({"answer": answer})
                rewards.append(result.reward)
                if result.done:
                    break
            assert result.done
            assert result.observation["ranks"] == [3, 8], "an answer without a ranking ends the list"
            assert sum(rewards) == pytest.approx(REWARD.score("jaguar", "[3] > [8]"))
            late = await client.step({"answer": "[12]"})
            assert (late.reward, late.done) == (0, True)

    asyncio.run(play())


def test_a_server_that_loses_its_client_lives_on_and_refuses_only_too_many(stepwise: str) -> None:
    async def play() -> None:
        for _ in range(5):  # more than its two places
            client = GenericEnvClient(base_url=stepwise)
            await client.connect()
            await client.reset(query_id="jaguar")
            await client.step({"answer": "[3]"})
            client._ws.transport.abort()  # as a killed process would
            await asyncio.sleep(0.2)
        async with GenericEnvClient(base_url=stepwise) as first, GenericEnvClient(base_url=stepwise) as second:
            assert not (await first.reset(query_id=IDS[0])).done
            assert not (await second.reset(query_id=IDS[1])).done
            with pytest.raises(Exception, match=r"(?i)capacity|session|closed|1013"):
                async with GenericEnvClient(base_url=stepwise) as third:
                    await third.reset(query_id=IDS[2])
            assert (await first.state())["query_id"] == IDS[0]

    asyncio.run(play())


def test_a_client_is_told_its_mistakes_and_plays_on(address: str) -> None:
    async def play() -> None:
        async with GenericEnvClient(base_url=address) as client:
            for mistake, message in (
                (lambda: client.step({"answer": "1"}), "reset first"),
                (lambda: client.reset(query_id="jaguars"), "jaguar"),
                (lambda: client.reset(split="validation"), "train"),
                (lambda: client.reset(split="test", index=10_000), "expected an index from 0"),
                (lambda: client.step({"ranking": [1]}), "Invalid message"),
            ):
                with pytest.raises(Exception, match=message):
                    await mistake()
            begun = await client.reset(split="test", index=0)
            assert begun.observation["prompt"] == REWARD.ask(SPLITS["test"][0])
            seeds = [(await client.reset(seed=7, split="train")).observation["prompt"] for _ in range(2)]
            assert seeds[0] == seeds[1]
            assert (await client.step({"answer": [3, 8, 1]})).reward >= 0, "JSON, as verifiers' client reads answers"

    asyncio.run(play())


def test_tasks_are_found_over_http(address: str) -> None:
    tasks = f"{address}/srd_gym"
    assert [split["name"] for split in httpx.get(f"{tasks}/splits").json()] == ["train", "test"]
    assert httpx.post(f"{tasks}/num_tasks", json={"split": "test"}).json() == {"num_tasks": len(SPLITS["test"])}
    assert httpx.post(f"{tasks}/task", json={"split": "test", "index": 99}).status_code == 400
    environment = CoverageEnvironment(REWARD, SPLITS)
    assert environment.list_splits() == ["train", "test"]
    assert environment.num_tasks("test") == len(SPLITS["test"])
    assert environment.get_task("test", 1)["query_id"] == SPLITS["test"][1]
    assert "judgments" not in environment.get_task("test", 1)
    assert len(environment.list_tasks("train")) == 30
    with pytest.raises(ValueError, match="train"):
        environment.num_tasks("dev")
    schema = httpx.get(f"{address}/schema").json()
    assert schema["action"]["required"] == ["answer"], "one: clients may send the plain text"
    with pytest.raises(ValueError, match="split 'none' has no queries"):
        coverage_app(REWARD, splits={"none": []})
    assert ListAction(answer=3).answer == "3"  # type: ignore[arg-type]


def test_the_code_of_the_page_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(url: str) -> None:
        async with GenericEnvClient(base_url=url) as client:
            await client.reset(query_id="jaguar")
            result = await client.step({"answer": "[3] > [8]"})
            assert result.reward == pytest.approx(REWARD.score("jaguar", "[3] > [8]"))

    ran = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: ran.append(app))
    code = code_below(ROOT / "docs" / "language_models.md", "OpenEnv")
    exec(compile(code, "page", "exec"), {"reward": REWARD})
    for url in served(ran[0]):
        asyncio.run(play(url))
