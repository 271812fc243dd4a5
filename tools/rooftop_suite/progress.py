"""How far work is, on standard error: on a terminal one line that is rewritten, elsewhere a line when a step begins,
while it runs, and when it ends."""
import sys

from .cli import minutes
from .plan import Plan
from .results import Step

SOON, OFTEN, LATER = 60.0, 10.0, 30.0  # elsewhere: a line every OFTEN seconds until SOON, then every LATER
DOUBT = 20.0  # seconds that are taken to have gone as guessed, so that one short step does not decide


class Line:
    """A line that says how far something is."""

    def __init__(self) -> None:
        self.live, self.told = sys.stderr.isatty(), 0.0

    def say(self, text: str, last: bool = True) -> None:
        """Prints text; on a terminal over what the line was, and the next one over it unless it is the last."""
        end = '\n' if last or not self.live else ''
        print(f'\r\x1b[K{text}' if self.live else text, end=end, file=sys.stderr, flush=True)

    def tick(self, text: str, so_far: float) -> None:
        """Prints text, if it is time: so_far is the seconds since the beginning."""
        self.told = min(self.told, so_far)
        if self.live or so_far == 0 or so_far - self.told >= (OFTEN if so_far <= SOON else LATER) - 0.5:
            self.told = so_far
            self.say(text, last=False)


class Progress:
    """Of the steps of a plan."""

    def __init__(self, plan: Plan, steps: list[Step], todo: list[Step]) -> None:
        self.plan, self.todo, self.count = plan, list(todo), len(steps)
        self.at = len(steps) - len(todo)
        self.guessed = self.spent = 0.0
        self.line = Line()
        self.line.say(f'{len(todo)} step{"s" * (len(todo) > 1)}, about {minutes(sum(map(plan.guess, todo)))}')

    def about(self, step: Step) -> float:
        """Returns the seconds that a step will take, in the light of those that are done."""
        return self.plan.guess(step) * (self.spent + DOUBT) / (self.guessed + DOUBT)

    def begin(self, step: Step) -> None:
        self.todo.remove(step)
        self.at += 1
        self.tick(step, 0)

    def tick(self, step: Step, so_far: float) -> None:
        about = max(self.about(step), so_far)
        left = sum(map(self.about, self.todo)) + about - so_far
        self.line.tick(f'[{self.at}/{self.count}] {step.name}  {so_far:.0f} s of about {minutes(about)}, '
                       f'{minutes(left)} left', so_far)

    def end(self, step: Step) -> None:
        took = step.seconds or 0.0
        self.guessed += self.plan.guess(step)
        self.spent += took
        self.line.say(f'[{self.at}/{self.count}] {step.name}  {step.state}, {minutes(took)}')
