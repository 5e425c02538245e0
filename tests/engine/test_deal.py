"""Seeds, shuffles and commitments."""

from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.deal import check_seed, commitment, shuffle
from engine.errors import SeedError
from engine.game import Game
from engine.games import GAMES, make_game
from engine.play import Play

SEEDS = st.from_regex(r"[A-Za-z0-9._-]{1,64}", fullmatch=True)

REFUSED = [
    *("", " ", "a b", " a", "a ", "a\n", "\n", "a\x00", "a" * 65, "a" * 10_000),
    *["a/b", "a|b", "a+b", "a=b", "a,b", "a:b", "é", "ß", "ａ", "١٢", "１", "İ", "ſ", "Ḱ", "🂡"],
]


def written_out(seed: str, decks: int, *, unbiased: bool = True) -> list[int]:
    """Shuffle as the page on deals says, straight on; with or without throwing words away."""
    hexadecimal = "".join(sha256(f"deal/1|{seed}|{block}".encode()).hexdigest() for block in range(20))
    words = [int(hexadecimal[at : at + 8], 16) for at in range(0, len(hexadecimal), 8)]
    cards = [*range(52)] * decks
    for last in reversed(range(1, len(cards))):
        choices = last + 1
        word = words.pop(0)
        while unbiased and word >= 2**32 - 2**32 % choices:
            word = words.pop(0)
        other = word % choices
        cards[last], cards[other] = cards[other], cards[last]
    return cards


@pytest.mark.parametrize("seed", ["a", "0", "-", ".", "_", "A.b_c-9", "z" * 64, "0123456789abcdef" * 2])
def test_one_to_64_characters_of_the_alphabet_are_a_seed(seed: str) -> None:
    assert check_seed(seed) is seed


@pytest.mark.parametrize("seed", REFUSED)
def test_anything_else_is_none(seed: str) -> None:
    with pytest.raises(SeedError):
        check_seed(seed)
    with pytest.raises(SeedError):
        shuffle(seed, 1)


def test_an_error_does_not_carry_the_seed() -> None:
    with pytest.raises(SeedError) as refused:
        check_seed("secret seed")
    assert "secret" not in str(refused.value)
    assert refused.value.kind == "seed_error"


@given(seed=SEEDS)
def test_a_commitment_is_the_sha_256_of_the_seed(seed: str) -> None:
    assert commitment(seed) == sha256(seed.encode("ascii")).hexdigest()


@pytest.mark.parametrize("decks", [1, 2])
@given(seed=SEEDS)
def test_a_shuffle_is_what_the_page_says_and_holds_every_card(decks: int, seed: str) -> None:
    deck = shuffle(seed, decks)
    assert deck == written_out(seed, decks)
    assert Counter(deck) == Counter(dict.fromkeys(range(52), decks))


@pytest.mark.parametrize("decks", [1, 2])
def test_words_that_would_favor_some_cards_are_thrown_away(decks: int) -> None:
    """One seed in millions meets such a word; this one does at once, with one deck and with two."""
    seed = "bound-825418"
    assert int.from_bytes(sha256(f"deal/1|{seed}|0".encode()).digest()[:4], "big") == 4294967286
    assert shuffle(seed, decks) == written_out(seed, decks)
    assert shuffle(seed, decks) != written_out(seed, decks, unbiased=False)


def test_nothing_but_the_number_of_decks_enters_the_shuffle() -> None:
    """Camelot draws the deck one by one, Stalactites deals it face up: the order is the same."""
    seed = "patience"
    deck = shuffle(seed, 1)
    stalactites = Play(make_game("stalactites"), deck).table
    rows = [stalactites.up[pile][0] for pile in range(4)]
    rows += [stalactites.up[4 + column][row] for row in range(6) for column in range(8)]
    assert rows == deck
    camelot = Play(make_game("camelot"), deck)
    camelot.push("draw")
    assert camelot.table.up[camelot.game.waste] == deck[:1]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_a_shuffle_is_made_afresh_each_time_and_left_as_it_is_by_a_play(game: type[Game]) -> None:
    rules = make_game(game.name)
    deck = shuffle("patience", rules.decks)
    before = list(deck)
    play = Play(rules, deck)
    play.push(play.legal[0])
    assert deck == before == shuffle("patience", rules.decks)
