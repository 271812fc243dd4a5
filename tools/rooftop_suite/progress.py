"""How far a run is, on standard error: on a terminal one line that is rewritten, elsewhere a line when a step begins, while
it runs, and when it ends."""
import sys

from .cli import minutes
from .plan import Plan
from .results import Step

SOON, OFTEN, LATER = 60.0, 10.0, 30.0  # elsewhere: a line every OFTEN seconds until SOON, then every LATER


class Progress:
    def __init__(self, plan: Plan, steps: list[Step], todo: list[Step]) -> None:
        self.plan, self.todo, self.count = plan, list(todo), len(steps)
        self.at = len(steps) - len(todo)
        self.guessed = self.spent = self.told = 0.0
        self.live = sys.stderr.isatty()

        if not self.live:
            self.say(f'{len(todo)} step{"s" * (len(todo) > 1)}, about {minutes(sum(map(plan.guess, todo)))}')

    def about(self, step: Step) -> float:
        """Returns the seconds that a step will take, in the light of those that are done."""
        rate = self.spent / self.guessed if self.guessed else 1.0
        return self.plan.guess(step) * rate

    def line(self, step: Step, so_far: float) -> str:
        about = max(self.about(step), so_far)
        left = sum(map(self.about, self.todo)) + about - so_far
        return f'[{self.at}/{self.count}] {step.name}  {so_far:.0f} s of about {minutes(about)}, {minutes(left)} left'

    def begin(self, step: Step) -> None:
        self.todo.remove(step)
        self.at += 1
        self.told = 0.0
        self.say(self.line(step, 0))

    def say(self, text: str) -> None:
        print(f'\r\x1b[K{text}' if self.live else text, end='' if self.live else '\n', file=sys.stderr, flush=True)

    def tick(self, step: Step, so_far: float) -> None:
        if self.live or so_far - self.told >= (OFTEN if so_far <= SOON else LATER) - 0.5:
            self.told = so_far
            self.say(self.line(step, so_far))

    def end(self, step: Step) -> None:
        took = step.seconds or 0.0
        self.guessed += self.plan.guess(step)
        self.spent += took
        self.say(f'[{self.at}/{self.count}] {step.name}  {step.state}, {minutes(took)}')
        if self.live:
            print(file=sys.stderr)
