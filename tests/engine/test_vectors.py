"""Decks and whole attempts that other implementations must agree with."""

import pytest

from engine.cards import NAMES
from engine.deal import commitment, shuffle
from engine.games import game_class
from engine.play import Play
from engine.view import view
from tests.engine.vectors import Json, Playthrough, deals, playthroughs


@pytest.mark.parametrize("deal", deals(), ids=lambda deal: f"{deal['seed']}-{deal['decks']}")
def test_a_seed_gives_its_deck_and_its_commitment(deal: Json) -> None:
    assert " ".join(NAMES[card] for card in shuffle(deal["seed"], deal["decks"])) == deal["deck"]
    assert commitment(deal["seed"]) == deal["commitment"]


def _agrees(play: Play, said: Json) -> None:
    """The view says all that a vector says, and names its piles in the same order."""
    now = view(play)
    assert {key: now[key] for key in said} == said
    assert list(now["piles"]) == list(said["piles"])


@pytest.mark.parametrize("through", playthroughs(), ids=lambda through: through.name)
def test_a_playthrough_goes_step_by_step_as_written(through: Playthrough) -> None:
    play, content = through.start(), through.content
    assert (play.game.rules, play.game.variant) == (content["rules"], content["variant"])
    assert play.game.options == content["options"]
    assert commitment(content["seed"]) == content["commitment"]
    _agrees(play, content["initial"])
    undone: list[str] = []
    for step in content["steps"]:
        if step["kind"] == "undo":
            undone.append(play.pop()[0])
        else:
            play.push(step["move"])
        now = {"check": play.check(), "score": play.score, "status": play.status, "phase": play.phase}
        assert now == {key: step[key] for key in now}
        assert len(play.legal) == step["legal_count"]
        assert play.legal == step.get("legal", play.legal)
    _agrees(play, content["final"])
    assert play.undos == len(undone)
    assert len(through.line) == play.moves


def test_every_game_on_file_is_there_in_every_variant_won_once_and_lost_once() -> None:
    games = {through.game for through in playthroughs()}
    assert games >= {"klondike", "casket", "plot", "stalactites", "camelot"}
    for name in games:
        on_file = [through.content for through in playthroughs() if through.game == name]
        assert {content["variant"] for content in on_file} == {
            each.name for each in game_class(name).variants
        }
        assert {content["final"]["status"] for content in on_file} >= {"won", "lost"}
