#!/usr/bin/env python3
"""Checks that relative links in Markdown files lead somewhere, and that lines outside code and tables have at most 100
columns: links.py FOLDER. A line per fault; status 1.

A target is a file or folder next to the document; an anchor is a heading of its file, spelt as GitHub and GitLab do:
lower case, without punctuation, '-' for blanks. Links in code and links to the web are not followed.
"""
import os
import re
import sys

COLUMNS = 100
SKIPPED = {'node_modules', '__pycache__'}


def documents(root: str) -> list[str]:
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name[0] != '.' and name not in SKIPPED and
                      not os.path.exists(os.path.join(folder, name, 'config.status'))]
        found += [os.path.join(folder, name) for name in names if name.endswith('.md')]
    return sorted(found)


def text_of(path: str) -> str:
    """Returns a document without its code."""
    with open(path, encoding='utf-8') as file:
        text = re.sub(r'^(```|~~~).*?^\1', '', file.read(), flags=re.M | re.S)
    return re.sub(r'(`+)(?!`).+?(?<!`)\1(?!`)', 'code', text, flags=re.S)


def anchors(path: str) -> set[str]:
    with open(path, encoding='utf-8') as file:
        text = re.sub(r'^(```|~~~).*?^\1', '', file.read(), flags=re.M | re.S)
    found: dict[str, int] = {}
    for heading in re.findall(r'^#+ +(.*?)#* *$', text, re.M):
        name = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', heading)
        name = re.sub(r'[^\w\- ]', '', name.strip().lower()).replace(' ', '-')
        found[name] = found.get(name, -1) + 1
        if found[name]:
            found[f'{name}-{found[name]}'] = 0
    return set(found) | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def targets(text: str) -> list[str]:
    inline = re.findall(r'\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)', text)
    return inline + re.findall(r'^\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)', text, re.M) + re.findall(r'(?:href|src)="([^"]+)"', text)


def dead(path: str) -> list[str]:
    """Returns the links of a document that lead nowhere."""
    wrong = []
    for target in targets(text_of(path)):
        file, _, anchor = target.partition('#')
        if re.match(r'[a-z][a-z+.-]*:|//', target):
            continue
        there = os.path.join(os.path.dirname(path), file) if file else path
        if not os.path.exists(there):
            wrong.append(target)
        elif anchor and there.endswith('.md') and anchor not in anchors(there):
            wrong.append(f'{target} (no such heading)')
    return wrong


def wide(path: str) -> list[str]:
    """Returns the beginnings of lines that are too long."""
    with open(path, encoding='utf-8') as file:
        text = re.sub(r'^(```|~~~).*?^\1', '', file.read(), flags=re.M | re.S)
    return [line[:40] for line in text.splitlines() if len(line) > COLUMNS and not re.match(r'\||       ', line)]


def main(root: str) -> int:
    found = documents(root)
    lines = [f'{os.path.relpath(path, root)}: dead link: {target}' for path in found for target in dead(path)]
    lines += [f'{os.path.relpath(path, root)}: more than {COLUMNS} columns: {start}' for path in found for start in wide(path)]
    for line in lines:
        print(line)
    if not found:
        print(f'{root}: no documents')
    return 1 if lines or not found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
