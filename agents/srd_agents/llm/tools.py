"""A list that a language model builds with tools, one document at a time, as an episode of `SRD-v0`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from srd_agents.llm.answers import parse_ranks
from srd_agents.llm.rewards import CoverageReward
from srd_gym.reading import shown_text
from srd_gym.showing import repr_of


class ListEpisode:
    """One list of k ranks, filled a document at a time; each step gains what its document adds to the measure.

    The gains of an episode sum to the reward of the same list in one answer, and to the return of `SRD-v0` with the
    measure as reward.

    Args:
        reward: the reward whose topic, prompt and measure these are.
        query_id: the topic.

    Attributes:
        gains: what each rank so far has added; 0 where it stays empty.
    """

    __repr__ = repr_of("query_id", "gains")

    def __init__(self, reward: CoverageReward, query_id: str) -> None:
        self.reward, self.query_id = reward, query_id
        topic = reward.topics[reward.topics.position(query_id)]
        self.count = reward.prompt.count(topic)
        self.k = min(reward.k, self.count)
        self.ranks: list[int] = []
        self.gains: list[float] = []
        self._finished = False

    @property
    def done(self) -> bool:
        """Whether the list is full or finished."""
        return self._finished or len(self.ranks) == self.k

    def show(self, number: object) -> bool:
        """Fill the next rank with a candidate, counted from 1; whether that was possible.

        The rank stays empty where there is no such candidate, or it is shown already. A list that is done stays.
        """
        if self.done:
            return False
        place = int(number) - 1 if isinstance(number, int | np.integer) and not isinstance(number, bool) else -1
        possible = 0 <= place < self.count and place not in self.ranks
        self.ranks.append(place if possible else -1)
        self.gains.append(float(self.reward.gains([self.query_id], [self.ranks])[0, -1]))
        return possible

    def answer(self, text: str, ranks: int) -> None:
        """Fill the next ranks with the first numbers of an answer, read as by the reward; other ranks stay empty.

        An answer without a ranking ends the list, and so does one that fills the last rank.

        Args:
            text: the answer.
            ranks: how many, of those that are left.
        """
        wanted = min(ranks, self.k - len(self.ranks))
        places, flaws = parse_ranks(text, self.count, wanted)
        if flaws["missing"] == wanted:
            self.finish()
            return
        for place in places.tolist():
            self.show(place + 1)

    def finish(self) -> None:
        """End the list; the ranks that are left stay empty."""
        self._finished = True


class ListTools:
    """The environment of a model with tools, in the form of TRL's `environment_factory`.

    Data sets for it come from `CoverageReward.rows(form="tools")`.

    Attributes:
        episode: the present list, its ranks and gains.
    """

    def __init__(self, reward: CoverageReward) -> None:
        self._reward = reward
        self.episode: ListEpisode | None = None

    def reset(self, query_id: str, **columns: object) -> str:
        """The prompt of a new list; other columns are not looked at."""
        self.episode = ListEpisode(self._reward, query_id)
        topic = self._reward.topics[self._reward.topics.position(query_id)]
        return self._reward.prompt.text(topic, self.episode.k) + USE

    def show(self, number: int) -> str:
        """Show a passage at the next rank of the list.

        Args:
            number: Number of the passage.

        Returns:
            Which rank it has now.
        """
        episode = self._present()
        if episode.done:
            return "The list is done."
        possible = episode.show(number)
        rank = f"Rank {len(episode.ranks)} of {episode.k}"
        return (
            f"{rank}: {shown_text(str(number), 20)}."
            if possible
            else f"{rank} stays empty: not a passage left to show."
        )

    def finish(self) -> str:
        """End the list; ranks that are left stay empty.

        Returns:
            That the list is done.
        """
        self._present().finish()
        return "The list is done."

    def get_reward(self) -> float:
        """The sum of the gains of all ranks."""
        return float(sum(self._present().gains))

    def _present(self) -> ListEpisode:
        if self.episode is None:
            raise RuntimeError("there is no list yet: call reset with a query_id")
        return self.episode


USE = "\nUse the tool show once for each rank, best first, then the tool finish, in place of an answer."


def list_tools(reward: CoverageReward) -> Callable[[], ListTools]:
    """A factory for `GRPOTrainer(environment_factory=...)`: each call gives an environment of its own."""
    return lambda: ListTools(reward)
