"""The plan of `spool ralph`: one prompt, again and again, until the agent keeps its promise."""

from collections.abc import Awaitable, Callable

from spool.domain.change import Change
from spool.domain.events import AgentEvent, Event
from spool.domain.outcome import Outcome
from spool.domain.prompt import RalphPrompt, build_ralph_prompt
from spool.domain.stream import StreamEvent
from spool.domain.verdict import Finish, Limits, Tally, Verdict, judge_ralph
from spool.engine.plan import Place
from spool.engine.ports import Clock


class RalphPlan:
    """Builds each prompt from the change as it stands, and judges by the promise."""

    story = None

    def __init__(
        self,
        *,
        user_prompt: str,
        promise: str,
        limits: Limits,
        question_tool: str,
        read_change: Callable[[], Awaitable[Change]],
        read_context: Callable[[], str],
        clock: Clock,
    ) -> None:
        self.promise = promise
        self.limits = limits
        self._user_prompt = user_prompt
        self._question_tool = question_tool
        self._read_change = read_change
        self._read_context = read_context
        self._clock = clock

    async def prepare(self, place: Place) -> str | Finish:
        """Return the prompt, with the change and the added context read anew."""
        return build_ralph_prompt(
            RalphPrompt(
                iteration=place.iteration,
                run_iteration=place.run_iteration,
                min_iterations=self.limits.min_iterations,
                max_iterations=self.limits.max_iterations,
                promise=self.promise,
                change=await self._read_change(),
                user_prompt=self._user_prompt,
                context=self._read_context(),
                question_tool=self._question_tool,
            )
        )

    def tell(self, place: Place, event: StreamEvent) -> Event:
        """Report what the agent said or did."""
        return AgentEvent(iteration=place.iteration, event=event)

    async def judge(self, outcome: Outcome, tally: Tally) -> Verdict:
        """Decide by the promise, the exit code and the limits."""
        now = self._clock.now().timestamp()
        return judge_ralph(outcome, tally, self.limits, now=now, jitter=self._clock.jitter)

    def conclude(self, finish: Finish) -> Finish:
        """A run ends as it was judged."""
        return finish

    async def close(self, finish: Finish) -> str:  # noqa: ARG002 - the protocol's signature
        """There is nothing to clean up."""
        return ""
