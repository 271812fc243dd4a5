"""How far work is, on standard error: on a terminal one line that is rewritten, elsewhere a line now and then."""
import sys

SOON, OFTEN, LATER = 60.0, 10.0, 30.0  # elsewhere: a line every OFTEN seconds until SOON, then every LATER


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
