"""A lesson as slides: one HTML file without network or script. The slides are as high as the window and snap into
place; what this machine did is folded away until the predictions are on the board."""
from . import page, sections
from .lesson_page import Lesson, Page, drawing_of, machine, machine_line, question
from .page import Html, details, fill, inline, join
from .prose import prose


def slide(name: str, title: str, body: Html) -> Html:
    return fill('slide', name=name, title=title, body=body)


def rung_slide(lesson: Lesson, number: int, one: Page) -> Html:
    """Returns a slide: idea, drawing, question, and folded away the climb up to this rung."""
    text = one.lesson
    shown = [prose(f'**Idea.** {text.idea}'), drawing_of(one),
             prose(f'**Predict.** {question(lesson, one, text.predict)}')] if text else []
    so_far = [other.rung for other in lesson.here[:number] if other.rung and other.ladder == one.ladder]
    figure = sections.Figures(small=True).climb(lesson.app, one.ladder, so_far, f'-{number}')
    said = [inline('p', text) for text, block in machine(lesson, one) if text and not block]
    body = join([*said[:3], figure], '\n')
    shown += [details('What this machine did', body), prose(f'**Look at.** {text.look}') if text else Html()]
    return slide(f'slide-of-{number}', f'{number}. {one.name}', join(shown, '\n'))


def slides(lesson: Lesson) -> str:
    """Returns the deck: a title, a slide per rung that ran here, and the roofline."""
    links = [page.link(f'slide-of-{i}', one.name) for i, one in enumerate(lesson.here, 1)]
    title = slide('slide-of-0', lesson.text.title, join([
        prose(lesson.text.introduction), inline('p', machine_line(lesson.result), 'lead'),
        inline('nav', join(links, ' ')), inline('p', 'Page down: the next slide.', 'lead')], '\n'))
    drawn = sections.Figures(small=True)
    last = slide('slide-of-all', 'The roofline', drawn.rooflines(lesson.app, lesson.result) or
                 inline('p', 'No rung has a figure of merit: the machine was disturbed.'))
    return page.document(lesson.text.title, fill('deck', slides=join(
        [title, *(rung_slide(lesson, i, one) for i, one in enumerate(lesson.here, 1)), last], '\n')))
