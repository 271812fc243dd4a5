"""A lesson as slides: one HTML file without network or script. After the slide that asks, one says what this machine
did, with the climb up to this rung."""
from . import lesson_page, page, plots, sections
from .lesson_page import Lesson, Page
from .page import Html
from .prose import prose


def slides(lesson: Lesson) -> str:
    """Returns the deck: a title, two slides per rung that ran here, and the roofline."""
    drawn = sections.Figures(small=True)

    def climb(number: int, one: Page) -> Html:
        so_far = [other.rung for other in lesson.here[:number] if other.rung and other.ladder == one.ladder]
        return drawn.climb(lesson.app, one.ladder, so_far, f'-{number}')

    body = page.template('slides.html').render(
        lesson=lesson, prose=prose, climb=climb, rooflines=drawn.rooflines(lesson.app, lesson.result),
        question=lesson_page.question, machine=lesson_page.machine, machine_line=lesson_page.machine_line,
        drawing_of=lesson_page.drawing_of, without_plots=plots.missing())
    return page.document(lesson.text.title, Html(body))
