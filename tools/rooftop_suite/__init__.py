"""The suite: what a buyer and a teacher do with the four programs, as one command (tools/rooftop).

cli.py has the table of subcommands; each is a module of its own. Below them are programs.py (find and run the
programs) and results.py (result folders: written whole, sealed, checked).
"""
import os

VALID, INVALID, USAGE, ENVIRONMENT, MEMORY = 0, 1, 2, 3, 4  # exit status, the same as the programs'


class Fault(Exception):
    """What the user can mend: cli.main prints it as one line and ends with its status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Interrupted(Exception):
    """SIGINT, SIGTERM or SIGHUP came: what is running is ended, what is whole is kept."""

    def __init__(self, signum):
        super().__init__(f'signal {signum}')
        self.signum = signum
        self.hint = ''  # what to do next


def shipped(*names):
    """A file or folder that comes with the suite, such as shipped('docs', 'result-schema.json'): in the source tree,
    or in share/rooftop once installed. Fault if it is in neither."""
    package = os.path.dirname(os.path.abspath(__file__))
    above = os.path.dirname(package)
    for root in (above, os.path.dirname(above)):
        path = os.path.join(root, *names)
        if os.path.exists(path):
            return path
    raise Fault(ENVIRONMENT, f'{os.path.join(*names)} is missing: it comes with the suite (make install)')


def source_tree():
    """The root of the source that this suite lies in, or None if it is installed."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return root if os.path.isfile(os.path.join(root, 'configure.ac')) else None
